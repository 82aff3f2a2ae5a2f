/** Frames of a page while something happens in it. */
import type { Page } from "playwright-core"

/** Frames, by their distances. */
export interface Frames {
  readonly count: number
  /** The longest distance between two frames, in milliseconds. */
  readonly longestMs: number
  /** Distances above 50 ms. */
  readonly above50: number
}

/** Records the frames of a page until the action has ended. */
export const during = async (page: Page, action: () => Promise<unknown>): Promise<Frames> => {
  await page.evaluate(`
    globalThis.frames50 = []
    globalThis.isRecorded = true
    requestAnimationFrame(function record(at) {
      frames50.push(at)
      if (isRecorded) requestAnimationFrame(record)
    })`)
  await action()
  const times = await page.evaluate<ReadonlyArray<number>>("isRecorded = false, frames50")
  const gaps = times.slice(1).map((at, index) => at - (times[index] ?? at))
  return {
    count: times.length,
    longestMs: Math.max(0, ...gaps),
    above50: gaps.filter((gap) => gap > 50).length
  }
}

/** Scrolls a place from one end to the other, by so many pixels a frame; resolves when it is there. */
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
