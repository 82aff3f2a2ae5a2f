/** Writes the pictures of the page in docs/images: `npx --yes pnpm@12 screenshots [FOLDER]`. */
import { join } from "node:path"
import type { Page } from "playwright-core"
import * as Service from "../../../../tools/src/acceptance/Service.ts"
import * as Rig from "./Rig.ts"
import { tryOut } from "./TrialForm.ts"

const folder = process.argv[2] ?? join(import.meta.dirname, "../../../../docs/images")

const rig = await Rig.make()
const { provider } = rig

/** The browser of the pictures has no desktop, and so forbids notices: with them the page has its bell. */
const open = async (options: Rig.WindowOptions): Promise<Page> => {
  const page = await rig.open(options)
  await page.addInitScript(`Object.defineProperty(Notification, "permission", { value: "default" })`)
  return page
}

const ANSWER = `Two incidents, both over.

1. **Checkout** was slow from 00:10 to 00:31: a deploy had switched the cache off.
2. **Search** had 4 % of errors until 02:05.

Both together: $1 - \\frac{21 + 38}{24 \\cdot 60} = 95.9\\,\\%$ of the day.

\`\`\`ts
const retry = { profile: "overnight", budget: "8 hours" }
\`\`\`

| service | minutes | cause |
|---|---|---|
| checkout | 21 | deploy |
| search | 38 | full disk |
`

/** Opens a conversation, sends its prompt, and waits for a text. */
const begin = async (page: Page, body: object, text: string, shown: string | RegExp): Promise<string> => {
  const address = await rig.create(body)
  await page.goto(address)
  await Rig.prompt(page, text)
  await Rig.seen(page, shown)
  return address
}

const seconds = (delays: ReadonlyArray<string>) => ({ schedule: { type: "steps", delays } })

try {
  const page = await open({ viewport: { width: 1100, height: 720 } })
  provider.plan("gpt-5", { tool: { name: "read_file", input: { path: "incidents.log" } } }, { pieces: [ANSWER] })
  const answer = await begin(
    page,
    { model: "local/gpt-5", tags: ["nightly"] },
    "Summarise yesterday's incidents.",
    "full disk"
  )
  provider.plan("wrong", { status: 401, message: "Incorrect API key provided.", type: "authentication_error" })
  await begin(page, { model: "local/wrong", tags: ["nightly"] }, "Translate the release notes.", "Incorrect API key")
  const reset = { "retry-after": "10800" }
  const exceeded = "You exceeded your current quota, please check your plan."
  provider.plan("gpt-5-mini", { status: 429, message: exceeded, type: "insufficient_quota", headers: reset })
  await begin(page, { model: "local/gpt-5-mini", retry: Rig.LONG }, "Sort the inbox.", "You exceeded")
  const spendGuard = { after: "1 second", maxInputTokens: 50, answerWithin: "2 hours" }
  provider.plan("large", Rig.OVERLOADED)
  const asks = await begin(
    page,
    { model: "local/large", retry: { ...seconds(["2 seconds"]), spendGuard }, tags: ["team/ops"] },
    "Read all tickets of the quarter and find patterns.",
    "Holdfast asks before it goes on"
  )
  provider.plan("claude", Rig.OVERLOADED, Rig.OVERLOADED, { ...Rig.OVERLOADED, status: 529 }, Rig.OVERLOADED)
  const waiting = await begin(
    page,
    { model: "local/claude", retry: seconds(["1 second", "2 seconds", "3 seconds", "15 minutes"]), tags: ["nightly"] },
    "Which of yesterday's failures will come back tonight?",
    "Retry 4"
  )
  await page.waitForFunction(() => /in 14 m 5[0-7] s/.test(document.querySelector("[role=timer]")?.textContent ?? ""))
  const shot = async (name: string, address: string, on: Page = page): Promise<void> => {
    await on.goto(address)
    await on.locator(".entry").first().waitFor({ state: "attached" })
    if (address.includes("#/c/")) await on.locator(".message").first().waitFor()
    if (address === waiting) await on.locator(".wait-picture").waitFor()
    if (address === answer) await on.locator("math").waitFor()
    // The list has read the state of each conversation.
    await on.waitForFunction(
      () => !Array.from(document.querySelectorAll(".status")).some(({ textContent }) => textContent === "")
    )
    await on.evaluate(() => document.querySelector<HTMLElement>(":focus")?.blur())
    await on.screenshot({ path: join(folder, `page-${name}.png`) })
  }
  await shot("wait", waiting)
  await shot("answer", answer)
  await shot("question", asks)
  const dark = await open({ colorScheme: "dark", viewport: { width: 1100, height: 720 } })
  await shot("dark", waiting, dark)
  await page.goto(`${rig.service.url}/#/night`)
  await page.getByLabel("Period").selectOption({ label: "last 10 minutes" })
  await page.locator(".row .course path").first().waitFor({ state: "attached" })
  await page.locator(".row:not(.group)").first().click()
  await Rig.seen(page.getByRole("region", { name: "Explanation" }), /attempt/i)
  await page.screenshot({ path: join(folder, "page-night.png") })
  await page.goto(`${rig.service.url}/#/health`)
  await page.locator(".configuration tbody tr").first().waitFor()
  await page.screenshot({ path: join(folder, "page-health.png") })
  const usual = await Service.make(
    rig.program,
    {
      model: "anthropic/claude-opus-4-8",
      providers: { anthropic: { type: "anthropic", apiKeyEnv: ["KEY"] } }
    },
    { KEY: "none" }
  )
  await usual.start()
  await page.setViewportSize({ width: 1100, height: 980 })
  await page.goto(`${usual.url}/#/before`)
  await tryOut(page, "interactive", { "Retries at most": "6" })
  await page.evaluate(() => document.querySelector<HTMLElement>(":focus")?.blur())
  await page.locator("main").evaluate((main) => main.scrollTo(0, 0))
  await page.screenshot({ path: join(folder, "page-before.png") })
  await usual.remove()
  const narrow = await open({ deviceScaleFactor: 1.5, viewport: { width: 360, height: 720 } })
  await shot("narrow", waiting, narrow)
} finally {
  await rig.close()
}
console.log(`The pictures are in ${folder}.`)
process.exit(0)
