/** Thousands of turns on the line of time, beside a bare list of as many rows of the same height. */
import type { Rig } from "../Rig.ts"
import type { BarePages } from "./BarePages.ts"
import * as Frames from "./Frames.ts"
import * as Table from "./Table.ts"

interface Round {
  readonly shownMs: number
  readonly frames: Frames.Frames
}

/** Frames of a scroll, and pixels of each. */
const FRAMES = 300
const STEP_PX = 300

export const measure = async (rig: Rig, bare: BarePages, rounds: number): Promise<void> => {
  const [ours, plain] = [[] as Array<Round>, [] as Array<Round>]
  let turns = 0
  for (let round = 0; round < rounds; round++) {
    Table.progress(`the timeline, round ${round + 1} of ${rounds}`)
    plain.push((await visit(rig, `${bare.url}/rows`, "#list", "#list p")).round)
    const shown = await visit(rig, `${rig.service.url}/#/night`, ".rows", ".course path")
    turns = shown.turns
    ours.push(shown.round)
  }
  console.log(`${turns} turns on the timeline, beside a bare list of rows (median of ${rounds})`)
  Table.figure(
    "  until they are shown",
    Table.median(ours.map(({ shownMs }) => shownMs)),
    Table.median(plain.map(({ shownMs }) => shownMs)),
    "ms"
  )
  console.log(`  ${FRAMES} frames of ${STEP_PX} px downwards:`)
  Table.frames(
    ours.map(({ frames }) => frames),
    plain.map(({ frames }) => frames)
  )
}

// --- internal

const visit = async (rig: Rig, address: string, scroller: string, shown: string) => {
  const page = await rig.open()
  await page.goto(address)
  await page.evaluate(`new Promise((resolve) => {
    const look = () => document.querySelector("${scroller} ${shown.replace(`${scroller} `, "")}") === null
      ? requestAnimationFrame(look) : resolve()
    look()
  })`)
  const shownMs = await page.evaluate(() => performance.now())
  const turns = await page.evaluate<number>("Number(document.querySelector('[aria-setsize]')?.ariaSetSize ?? 0)")
  const frames = await Frames.during(rig, page, () => Frames.scroll(page, scroller, STEP_PX, FRAMES))
  await page.context().close()
  return { turns, round: { shownMs, frames } }
}
