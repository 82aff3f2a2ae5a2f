/**
 * Measures the page beside bare pages, in alternation: `npx --yes pnpm@12 bench page`.
 *
 * The service is the packed one, over SQLite; the provider is on a socket. Ratios count: the machine is the same for both.
 */
import { globSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import type { Page } from "playwright-core"
import * as BarePages from "./BarePages.ts"
import * as Frames from "./Frames.ts"
import * as Rig from "./Rig.ts"

const ROUNDS = Number(process.env["HOLDFAST_BENCH_ROUNDS"] ?? 5)
/** Two messages a turn. */
const TURNS = Number(process.env["HOLDFAST_BENCH_TURNS"] ?? 5_000)
const EVERY_MS = 5
const DELTAS = 2_000

const SENTENCES = [
  "The **queue** was drained at `02:14`, ",
  "and the next attempt came 30 s later.\n\n",
  "- one endpoint stayed down\n",
  "- the other one answered\n\n",
  "```ts\nconst delay = schedule",
  "[attempt] ?? tail\n",
  "```\n\n",
  "| step | waited |\n|---|---|\n| 1 | 5 s |\n\n"
]
const pieces = Array.from({ length: DELTAS }, (_, index) => SENTENCES[index % SENTENCES.length] ?? "")

const rig = await Rig.make()
const assets = globSync(join(dirname(rig.program), "page/assets/*"))
const bytesOf = (ending: string): number =>
  assets.reduce((sum, file) => sum + (new RegExp(`index-.*\\.${ending}$`).test(file) ? statSync(file).size : 0), 0)
const answerOf = (turn: number): string =>
  `Here is **the answer ${turn}**, with \`code\` and a list:\n\n- one of ${turn}\n- another\n`
const bare = await BarePages.start({
  scriptBytes: bytesOf("js"),
  styleBytes: bytesOf("css"),
  pieces,
  everyMs: EVERY_MS,
  texts: Array.from({ length: TURNS }, (_, n) => [`Prompt ${n}`, answerOf(n)]).flat()
})

const median = (values: ReadonlyArray<number>): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0
const figure = (name: string, ours: number, plain: number | undefined, unit: string): void => {
  const ratio = plain === undefined || plain === 0 ? "" : `${(ours / plain).toFixed(2)}x`
  const shown = plain === undefined ? "" : `${plain.toFixed(plain < 10 ? 1 : 0)} ${unit}`
  console.log(
    `${name.padEnd(58)} ${`${ours.toFixed(ours < 10 ? 1 : 0)} ${unit}`.padStart(12)} ${shown.padStart(12)} ${ratio.padStart(8)}`
  )
}
const firstPaint = (page: Page): Promise<number> =>
  page.evaluate(
    () =>
      new Promise<number>((resolve) =>
        new PerformanceObserver((list) => {
          const paint = list.getEntriesByName("first-contentful-paint")[0]
          if (paint !== undefined) resolve(paint.startTime)
        }).observe({ type: "paint", buffered: true })
      )
  )
const now = (page: Page): Promise<number> => page.evaluate(() => performance.now())

/** Each visit has an empty cache. */
const visit = async (address: string, ready: (page: Page) => Promise<unknown>) => {
  const page = await rig.open()
  await page.goto(address)
  await ready(page)
  const readyMs = await now(page)
  const paintMs = await firstPaint(page)
  await page.context().close()
  return { paintMs, readyMs }
}

const paints = async (): Promise<void> => {
  const ours = []
  const plain = []
  for (let round = 0; round < ROUNDS; round++) {
    plain.push(await visit(`${bare.url}/static`, (page) => Rig.seen(page, "There")))
    ours.push(await visit(rig.service.url, (page) => page.getByRole("heading", { name: "New conversation" }).waitFor()))
  }
  figure(
    `first paint, empty cache (median of ${ROUNDS})`,
    median(ours.map(({ paintMs }) => paintMs)),
    median(plain.map(({ paintMs }) => paintMs)),
    "ms"
  )
  figure(
    "  until a prompt can be written",
    median(ours.map(({ readyMs }) => readyMs)),
    median(plain.map(({ readyMs }) => readyMs)),
    "ms"
  )
}

const streaming = async (): Promise<void> => {
  const longest = { ours: [] as Array<number>, plain: [] as Array<number> }
  const above = { ours: 0, plain: 0 }
  for (let round = 0; round < Math.min(ROUNDS, 3); round++) {
    const plainPage = await rig.open()
    await plainPage.goto(`${bare.url}/stream`)
    const plain = await Frames.during(plainPage, () =>
      plainPage.waitForFunction("document.title === 'ended'", undefined, { timeout: 0 })
    )
    await plainPage.context().close()
    rig.provider.plan("fast", { paced: pieces, everyMs: EVERY_MS })
    const page = await rig.open()
    await page.goto(await rig.create({ model: "local/fast" }))
    await Rig.prompt(page, "Write.")
    await page.locator(".arriving").waitFor()
    const ours = await Frames.during(page, () => page.locator(".arriving").waitFor({ state: "detached", timeout: 0 }))
    await page.context().close()
    longest.ours.push(ours.longestMs)
    longest.plain.push(plain.longestMs)
    above.ours += ours.above50
    above.plain += plain.above50
  }
  figure(
    `${1_000 / EVERY_MS} deltas/s for ${(DELTAS * EVERY_MS) / 1_000} s: longest frame`,
    median(longest.ours),
    median(longest.plain),
    "ms"
  )
  figure("  frames above 50 ms, all rounds", above.ours, above.plain, "")
}

const turns = async (): Promise<string> => {
  const address = await rig.create({ model: "local/many" })
  let answered = 0
  rig.provider.answer("many", () => ({ pieces: [answerOf(answered++)] }))
  const id = address.split("/#/c/")[1] ?? ""
  for (let turn = 0; turn < TURNS; turn++) {
    const response = await fetch(`${rig.service.url}/v1/conversations/${id}/turns`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json", prefer: "respond-async" },
      body: JSON.stringify({ prompt: `Prompt ${turn}` })
    })
    await response.arrayBuffer()
    if (turn % 20 === 19) await idle(id)
  }
  return address
}

/** Waits until no turn of a conversation is left. */
const idle = async (id: string): Promise<void> => {
  for (;;) {
    const response = await fetch(`${rig.service.url}/v1/conversations/${id}`)
    const { status } = (await response.json()) as { readonly status: string }
    if (status === "idle") return
  }
}

const scrolled = async (address: string): Promise<void> => {
  const page = await rig.open()
  await page.goto(address)
  await page
    .locator(".messages")
    .getByText(`Prompt ${TURNS - 1}`, { exact: true })
    .waitFor({ timeout: 0 })
  figure(`${2 * TURNS} messages: until the last one is shown`, await now(page), undefined, "ms")
  const list = await rig.open()
  await list.goto(`${bare.url}/list`)
  await list.evaluate("document.querySelector('#list').scrollTop = 1e9")
  const plain = await Frames.during(list, () => Frames.scroll(list, "#list", -400, 600))
  const ours = await Frames.during(page, () => Frames.scroll(page, ".scroller", -400, 600))
  figure("  scrolled upwards, 400 px a frame: longest frame", ours.longestMs, plain.longestMs, "ms")
  figure("    frames above 50 ms, of 600", ours.above50, plain.above50, "")
  await page.getByLabel("Messages").press("Home")
  const from = await now(page)
  await page.locator(".messages").getByText("Prompt 0", { exact: true }).waitFor({ timeout: 0 })
  figure("  Home: until the first one is shown", (await now(page)) - from, undefined, "ms")
  await list.context().close()
  await page.context().close()
}

const timeline = async (): Promise<void> => {
  const page = await rig.open()
  await page.goto(`${rig.service.url}/#/night`)
  await page
    .getByText(new RegExp(`^(?:${TURNS}|${TURNS.toLocaleString("en")}) turns`))
    .first()
    .waitFor({ timeout: 0 })
  figure(`${TURNS} turns on the timeline: until they are shown`, await now(page), undefined, "ms")
  const ours = await Frames.during(page, () => Frames.scroll(page, ".rows", 300, 600))
  figure("  scrolled, 300 px a frame: longest frame", ours.longestMs, undefined, "ms")
  figure("    frames above 50 ms, of 600", ours.above50, undefined, "")
  await page.context().close()
}

try {
  console.log(`${"".padEnd(58)} ${"page".padStart(12)} ${"bare".padStart(12)} ${"ratio".padStart(8)}`)
  await paints()
  await streaming()
  const address = await turns()
  await scrolled(address)
  await timeline()
} finally {
  bare.close()
  await rig.close()
}
process.exit(0)
