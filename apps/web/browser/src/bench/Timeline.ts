/** Thousands of turns on the line of time, beside a bare list of as many rows of the same height. */
import type { Rig } from "../Rig.ts"
import type { BarePages } from "./BarePages.ts"
import * as Frames from "./Frames.ts"
import * as Table from "./Table.ts"

interface Round {
  readonly firstMs: number
  readonly opened: Frames.Opened
  readonly frames: Frames.Frames
}

/** Frames of a scroll, and pixels of each. */
const FRAMES = 300
const STEP_PX = 300

export const measure = async (rig: Rig, bare: BarePages, rounds: number): Promise<void> => {
  const [ours, plain] = [[] as Array<Round>, [] as Array<Round>]
  let listed = ""
  for (let round = 0; round < rounds; round++) {
    Table.progress(`the timeline, round ${round + 1} of ${rounds}`)
    const [bareRound] = await visit(rig, `${bare.url}/rows`, "#list p", "document.readyState === 'complete'", "#list")
    const [ourRound, words] = await visit(rig, `${rig.service.url}/#/night`, ".rows .course path", LISTED, ".rows")
    plain.push(bareRound)
    ours.push(ourRound)
    listed = words
  }
  console.log(`${listed} on the timeline, beside a bare list of rows (median of ${rounds})`)
  Table.figure(
    "  until the first ones are shown",
    Table.median(ours.map(({ firstMs }) => firstMs)),
    Table.median(plain.map(({ firstMs }) => firstMs)),
    "ms"
  )
  Table.opened(
    "all are listed",
    ours.map(({ opened }) => opened),
    plain.map(({ opened }) => opened)
  )
  console.log(`  ${FRAMES} frames of ${STEP_PX} px downwards:`)
  Table.frames(
    ours.map(({ frames }) => frames),
    plain.map(({ frames }) => frames),
    "frame"
  )
}

// --- internal

/** The words that count the turns; before that, they are being read. */
const WORDS =
  "[...document.querySelectorAll('[role=status]')].find(({ textContent }) => /^\\d+ turns/.test(textContent))"

const LISTED = `${WORDS} !== undefined`

const visit = async (
  rig: Rig,
  address: string,
  first: string,
  all: string,
  scroller: string
): Promise<readonly [Round, string]> => {
  const page = await rig.open()
  await page.addInitScript(`
    const first = () => {
      if (document.querySelector("${first}") === null) return void requestAnimationFrame(first)
      globalThis.firstMs = performance.now()
    }
    first()`)
  const opened = await Frames.open(rig, page, address, `globalThis.firstMs !== undefined && ${all}`)
  const firstMs = await page.evaluate<number>("firstMs")
  const words = await page.evaluate<string>(`${WORDS}?.textContent ?? ""`)
  const [counted = ""] = /^\d+ turns/.exec(words) ?? []
  const frames = await Frames.during(rig, page, () => Frames.scroll(page, scroller, STEP_PX, FRAMES))
  await page.context().close()
  return [{ firstMs, opened, frames }, counted]
}
