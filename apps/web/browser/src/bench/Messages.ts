/** A conversation of thousands of messages, beside a bare list of their texts. */
import type { Page } from "playwright-core"
import type { Rig } from "../Rig.ts"
import type { BarePages } from "./BarePages.ts"
import * as Frames from "./Frames.ts"
import * as Seed from "./Seed.ts"
import * as Table from "./Table.ts"

interface Round {
  readonly shownMs: number
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
  const line = (name: string, of: (round: Round) => number): void =>
    Table.figure(name, Table.median(ours.map(of)), Table.median(plain.map(of)), "ms")
  line("  until the last one is shown", ({ shownMs }) => shownMs)
  line("  from the end to the first one", ({ homeMs }) => homeMs)
  console.log(`  ${FRAMES} frames of ${-STEP_PX} px upwards:`)
  Table.frames(
    ours.map(({ frames }) => frames),
    plain.map(({ frames }) => frames)
  )
}

// --- internal

const visit = async (rig: Rig, address: string, scroller: string, entry: string, turns: number): Promise<Round> => {
  const page = await rig.open()
  await page.goto(address)
  await sees(page, entry, Seed.promptOf(turns - 1))
  const shownMs = await page.evaluate(() => performance.now())
  await page.evaluate(`document.querySelector("${scroller}").scrollTop = 1e9`)
  const frames = await Frames.during(rig, page, () => Frames.scroll(page, scroller, STEP_PX, FRAMES))
  const from = await page.evaluate(() => performance.now())
  await page.evaluate(`document.querySelector("${scroller}").scrollTop = 0`)
  await sees(page, entry, Seed.promptOf(0))
  const homeMs = (await page.evaluate(() => performance.now())) - from
  await page.context().close()
  return { shownMs, frames, homeMs }
}

/** Waits until an entry with a text is drawn. */
const sees = (page: Page, entry: string, text: string): Promise<unknown> =>
  page.evaluate(
    ({ entry, text }) =>
      new Promise<void>((resolve) => {
        const look = (): void => {
          const found = [...document.querySelectorAll(entry)].some(({ textContent }) => textContent.includes(text))
          requestAnimationFrame(found ? () => resolve() : look)
        }
        look()
      }),
    { entry, text }
  )
