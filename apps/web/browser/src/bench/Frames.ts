/** The frames of a page, and the work of its main thread, while something happens in it. */
import type { Page } from "playwright-core"
import type { Rig } from "../Rig.ts"
import * as MainThread from "./MainThread.ts"

/** What was recorded. */
export interface Frames {
  readonly seconds: number
  readonly count: number
  /** The longest distance between two frames, in milliseconds. */
  readonly longestMs: number
  /** Distances above 50 ms. */
  readonly above50: number
  readonly work: MainThread.Work
}

/** Records a page until the action has ended. */
export const during = async ({ browser }: Rig, page: Page, action: () => Promise<unknown>): Promise<Frames> => {
  await browser.startTracing(page, { categories: MainThread.CATEGORIES })
  await page.evaluate(`
    globalThis.frameTimes = []
    globalThis.isRecorded = true
    performance.mark("recorded-from")
    requestAnimationFrame(function record(at) {
      frameTimes.push(at)
      if (isRecorded) requestAnimationFrame(record)
    })`)
  await action()
  const times = await page.evaluate<ReadonlyArray<number>>(
    'isRecorded = false, performance.mark("recorded-to"), frameTimes'
  )
  const work = MainThread.read(await browser.stopTracing(), {
    from: "recorded-from",
    to: "recorded-to"
  })
  const gaps = times.slice(1).map((at, index) => at - (times[index] ?? at))
  return {
    seconds: gaps.reduce((sum, gap) => sum + gap, 0) / 1_000,
    count: gaps.length,
    longestMs: Math.max(0, ...gaps),
    above50: gaps.filter((gap) => gap > 50).length,
    work
  }
}

/** How an address was opened. */
export interface Opened {
  readonly shownMs: number
  readonly work: MainThread.Work
}

/** Opens an address, until a fact holds in a frame of the page. */
export const open = async ({ browser }: Rig, page: Page, address: string, fact: string): Promise<Opened> => {
  await browser.startTracing(page, { categories: MainThread.CATEGORIES })
  await page.goto(address)
  const shownMs = await page.evaluate<number>(`new Promise((resolve, reject) => {
    const look = () => {
      if (performance.now() > ${MOST_MS}) return reject(new Error("${address} did not show in ${MOST_MS} ms what was waited for."))
      if (!(${fact})) return void requestAnimationFrame(look)
      performance.mark("shown")
      resolve(performance.now())
    }
    look()
  })`)
  return { shownMs, work: MainThread.read(await browser.stopTracing(), { to: "shown" }) }
}

/** Scrolls a place by so many pixels a frame; resolves after so many frames. */
export const scroll = (page: Page, selector: string, stepPx: number, frames: number): Promise<unknown> =>
  page.evaluate(
    ({ frames, selector, stepPx }) =>
      new Promise<void>((resolve) => {
        const place = document.querySelector(selector)
        let left = frames
        const step = (): void => {
          place?.scrollBy(0, stepPx)
          if (left-- > 0) requestAnimationFrame(step)
          else resolve()
        }
        requestAnimationFrame(step)
      }),
    { selector, stepPx, frames }
  )

/** Waits until a fact holds in the page, and asks so rarely that asking is no work. */
export const until = (page: Page, fact: string): Promise<unknown> =>
  page.evaluate(`new Promise((resolve) => {
    const timer = setInterval(() => {
      if (!(${fact})) return
      clearInterval(timer)
      resolve()
    }, 100)
  })`)

// --- internal

/** A guard against hanging: many times what it takes on a busy machine. */
const MOST_MS = 120_000
