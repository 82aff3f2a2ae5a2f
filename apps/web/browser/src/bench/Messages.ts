/** A conversation of thousands of messages, beside a bare list of their texts. */
import type { Rig } from "../Rig.ts"
import type { BarePages } from "./BarePages.ts"
import * as Frames from "./Frames.ts"
import * as Seed from "../Seed.ts"
import * as Table from "./Table.ts"

interface Round {
  readonly opened: Frames.Opened
  readonly frames: Frames.Frames
  readonly homeMs: number
}

/** Frames of a scroll, and pixels of each. */
const FRAMES = 300
const STEP_PX = -400

export const measure = async (
  rig: Rig,
  bare: BarePages,
  address: string,
  turns: number,
  rounds: number
): Promise<void> => {
  const [ours, plain] = [[] as Array<Round>, [] as Array<Round>]
  for (let round = 0; round < rounds; round++) {
    Table.progress(`${2 * turns} messages, round ${round + 1} of ${rounds}`)
    plain.push(await visit(rig, `${bare.url}/list`, "#list", "#list p", turns))
    ours.push(await visit(rig, address, ".scroller", ".message", turns))
  }
  console.log(`${2 * turns} messages, beside a bare list of their texts (median of ${rounds})`)
  Table.opened(
    "the last one is shown",
    ours.map(({ opened }) => opened),
    plain.map(({ opened }) => opened)
  )
  Table.figure(
    "  from the end to the first one",
    Table.median(ours.map(({ homeMs }) => homeMs)),
    Table.median(plain.map(({ homeMs }) => homeMs)),
    "ms"
  )
  console.log(`  ${FRAMES} frames of ${-STEP_PX} px upwards:`)
  Table.frames(
    ours.map(({ frames }) => frames),
    plain.map(({ frames }) => frames),
    "frame"
  )
}

// --- internal

const visit = async (rig: Rig, address: string, scroller: string, entry: string, turns: number): Promise<Round> => {
  const page = await rig.open()
  const opened = await Frames.open(rig, page, address, has(entry, Seed.promptOf(turns - 1)))
  await page.evaluate(`document.querySelector("${scroller}").scrollTop = 1e9`)
  const frames = await Frames.during(rig, page, () => Frames.scroll(page, scroller, STEP_PX, FRAMES))
  const homeMs = await page.evaluate<number>(`new Promise((resolve) => {
    const from = performance.now()
    document.querySelector("${scroller}").scrollTop = 0
    const look = () => ${has(entry, Seed.promptOf(0))} ? resolve(performance.now() - from) : requestAnimationFrame(look)
    requestAnimationFrame(look)
  })`)
  await page.context().close()
  return { opened, frames, homeMs }
}

/** Whether an entry with a text is drawn. The newest are the last: they are looked at first. */
const has = (entry: string, text: string): string =>
  `[...document.querySelectorAll("${entry}")].findLast(({ textContent }) => textContent.includes("${text}")) !== undefined`
