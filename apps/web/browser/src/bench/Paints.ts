/** From an address to the page: the first paint, and when it can be used; each visit has an empty cache. */
import type { Page } from "playwright-core"
import type { Rig } from "../Rig.ts"
import type { BarePages } from "./BarePages.ts"
import * as MainThread from "./MainThread.ts"
import * as Table from "./Table.ts"

export const measure = async (rig: Rig, bare: BarePages, rounds: number): Promise<void> => {
  const [ours, plain] = [[] as Array<Visit>, [] as Array<Visit>]
  for (let round = 0; round < rounds; round++) {
    Table.progress(`first paint, round ${round + 1} of ${rounds}`)
    plain.push(await visit(rig, `${bare.url}/static`, "#ready"))
    ours.push(await visit(rig, rig.service.url, "textarea"))
  }
  console.log(`The page at /, beside a static page of its size (median of ${rounds})`)
  const line = (name: string, of: (visit: Visit) => number): void =>
    Table.figure(name, Table.median(ours.map(of)), Table.median(plain.map(of)), "ms")
  line("  first paint", ({ paintMs }) => paintMs)
  line("  first paint, processor time", ({ paintWork }) => paintWork.ms.all)
  line("  until a prompt can be written", ({ readyMs }) => readyMs)
  line("  until a prompt can be written, processor time", ({ readyWork }) => readyWork.ms.all)
  line("  longest task, processor time", ({ readyWork }) => readyWork.longestTaskMs)
}

// --- internal

interface Visit {
  readonly paintMs: number
  readonly readyMs: number
  readonly paintWork: MainThread.Work
  readonly readyWork: MainThread.Work
}

const PAINT = "first-contentful-paint"

const visit = async ({ browser, open }: Rig, address: string, ready: string): Promise<Visit> => {
  const page = await open()
  await marks(page, ready)
  await browser.startTracing(page, { categories: MainThread.CATEGORIES })
  const isReady = page.waitForEvent("console", (message) => message.text() === READY)
  await page.goto(address)
  await isReady
  const trace = await browser.stopTracing()
  const times = await page.evaluate<ReadonlyArray<number>>(
    `["${PAINT}", "${READY}"].map((name) => performance.getEntriesByName(name)[0].startTime)`
  )
  await page.context().close()
  const [paintMs = 0, readyMs = 0] = times
  return {
    paintMs,
    readyMs,
    paintWork: MainThread.read(trace, "firstContentfulPaint"),
    readyWork: MainThread.read(trace, READY)
  }
}

const READY = "ready-to-use"

/** Marks the frame in which an element is there. */
const marks = (page: Page, selector: string): Promise<unknown> =>
  page.addInitScript(`
    const look = () => {
      if (document.querySelector("${selector}") === null) return false
      requestAnimationFrame(() => requestAnimationFrame(() => {
        performance.mark("${READY}")
        console.debug("${READY}")
      }))
      return true
    }
    const changes = new MutationObserver(() => look() && changes.disconnect())
    changes.observe(document, { childList: true, subtree: true })`)
