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
  const sent = Math.max(...ours.map(({ sentBytes }) => sentBytes)) / 1_000
  console.log(`  scripts and styles until then, gzip: ${sent.toFixed(1)} kB (aim 250)`)
  line("  longest task, processor time", ({ readyWork }) => readyWork.longestTaskMs)
}

// --- internal

interface Visit {
  /** Bytes of scripts and styles, as they were sent. */
  readonly sentBytes: number
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
  const sentBytes = await page.evaluate<number>(
    `performance.getEntriesByType("resource").reduce((sum, { encodedBodySize, name, startTime }) =>
      /\\.(?:js|css)$/.test(name) && startTime < performance.getEntriesByName("${READY}")[0].startTime ? sum + encodedBodySize : sum, 0)`
  )
  const times = await page.evaluate<ReadonlyArray<number>>(
    `["${PAINT}", "${READY}"].map((name) => performance.getEntriesByName(name)[0].startTime)`
  )
  await page.context().close()
  const [paintMs = 0, readyMs = 0] = times
  return {
    sentBytes,
    paintMs,
    readyMs,
    paintWork: MainThread.read(trace, { to: READY, earlierMs: readyMs - paintMs }),
    readyWork: MainThread.read(trace, { to: READY })
  }
}

const READY = "ready-to-use"

/** Marks the frame in which an element is there, and says so once the browser knows its first paint too. */
const marks = (page: Page, selector: string): Promise<unknown> =>
  page.addInitScript(`
    const look = () => {
      if (document.querySelector("${selector}") === null) return false
      requestAnimationFrame(() => requestAnimationFrame(() => {
        performance.mark("${READY}")
        const paints = new PerformanceObserver((list) => {
          if (list.getEntriesByName("${PAINT}").length > 0) console.debug("${READY}")
        })
        paints.observe({ type: "paint", buffered: true })
      }))
      return true
    }
    const changes = new MutationObserver(() => look() && changes.disconnect())
    changes.observe(document, { childList: true, subtree: true })`)
