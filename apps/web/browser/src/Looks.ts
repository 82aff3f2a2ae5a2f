/** Checks the page's states for accessibility (axe), in light and dark, wide and narrow; and what a narrow screen shows. */
import { AxeBuilder } from "@axe-core/playwright"
import type { Page } from "playwright-core"
import { ensure, same, show } from "../../../../tools/src/acceptance/Report.ts"
import { tryOut } from "./TrialForm.ts"
import { LONG, OVERLOADED, prompt, type Rig, seen, wait } from "./Rig.ts"

const RICH =
  "## Plan\n\nSo $x^2$ and\n\n$$\\sum_{i=1}^{n} \\frac{aaaaaaaaaa}{bbbbbbbbbbb} + ccccccccccccccccc + ddddddddddddddddddd = eeeeeeeeeeeeee$$\n\n1. Look at `main.ts`\n2. Mend it\n\n```ts\nconst answer = await turn.result() // a line that is much longer than a narrow screen can show at once\n```\n\n| column | another |\n|---|---|\n| a | b |\n\n> quoted\n\n- [x] done\n"

/** Opens the states that are looked at; each window stays open. */
const states = async (rig: Rig): Promise<ReadonlyArray<readonly [name: string, address: string]>> => {
  rig.provider.plan("rich", { tool: { name: "read_file", input: { path: "main.ts" } } }, { pieces: [RICH] })
  rig.provider.plan("late", OVERLOADED)
  rig.provider.plan("wrong", { status: 401, message: "Incorrect API key provided.", type: "authentication_error" })
  const page = await rig.open()
  const rich = await rig.create({ model: "local/rich", tags: ["nightly"] })
  await page.goto(rich)
  await prompt(page, "Read main.ts and make a plan.")
  await seen(page, "Mend it")
  const late = await rig.create({ model: "local/late", retry: LONG })
  await page.goto(late)
  await prompt(page, "Are you there?")
  await wait(page).waitFor()
  const wrong = await rig.create({ model: "local/wrong" })
  await page.goto(wrong)
  await prompt(page, "Are you there?")
  await seen(page.locator(".failure"), "Incorrect API key provided.")
  await page.context().close()
  return [
    ["an answer with code and a tool", rich],
    ["a wait", late],
    ["a failure", wrong],
    ["the night", `${rig.service.url}/#/night`],
    ["health", `${rig.service.url}/#/health`],
    ["before the night", `${rig.service.url}/#/before`],
    ["the list and a new conversation", `${rig.service.url}/#/`]
  ]
}

export const run = async (rig: Rig): Promise<void> => {
  const shown = await states(rig)
  const looks = (["light", "dark"] as const).flatMap((colorScheme) =>
    [1200, 360].map((width) =>
      show(`no violation of accessibility, ${colorScheme}, ${width} px`, async () => {
        const page = await rig.open({
          colorScheme,
          viewport: { width, height: 780 },
          reducedMotion: "reduce",
          mayFail: true
        })
        for (const [name, address] of shown) {
          await page.goto("about:blank")
          await page.goto(address)
          await ready(page, name)
          for (const fold of await page.locator("details > summary").all()) await fold.click()
          if (name === "a wait") await page.getByRole("button", { name: "Switch model …" }).click()
          const { violations } = await new AxeBuilder({ page }).setLegacyMode(true).analyze()
          const words = violations.map(
            ({ help, id, nodes }) => `${id}: ${help}\n  ${nodes.map(({ html }) => html).join("\n  ")}`
          )
          ensure(violations.length === 0, `${name}:\n${words.join("\n")}`)
          const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
          ensure(overflow <= 0, `${name}: the page is ${overflow} px wider than the screen`)
        }
        await page.context().close()
      })
    )
  )
  await Promise.all(looks)
  await show("a narrow screen shows the list or a conversation, and leads back", async () => {
    const page = await rig.open({ viewport: { width: 360, height: 700 } })
    await page.goto(shown[1]?.[1] ?? "")
    await wait(page).waitFor()
    ensure(!(await page.locator(".list").isVisible()), "the list is hidden beside a conversation")
    await page.getByRole("link", { name: "All conversations" }).click()
    await page.locator(".entry").first().waitFor()
    await page.getByRole("link", { name: "New conversation" }).click()
    same(
      await page.getByLabel("Prompt", { exact: true }).evaluate((element) => element === document.activeElement),
      true,
      "focus on the prompt"
    )
    await page.context().close()
  })
}

// --- internal

const ready = async (page: Page, name: string): Promise<void> => {
  if (name === "the night") {
    await page.locator(".row:not(.group)").first().click()
    await seen(page.getByRole("region", { name: "Explanation" }), /attempt/i)
    return
  }
  if (name === "health") return page.locator(".configuration tbody tr").first().waitFor()
  if (name === "before the night") {
    await page.getByLabel("Longest wait").fill("soon")
    await seen(page, /expected a duration/)
    return tryOut(page, "interactive", { "Fallback chain": "other/plain", "Longest wait": "2 hours" })
  }
  await page.locator(".entry").first().waitFor({ state: "attached" })
  if (name === "a wait") await page.locator(".wait-picture").waitFor()
  else if (name === "a failure") await page.locator(".failure").waitFor()
  else if (name.startsWith("an answer")) {
    await page.locator(".code .hljs-keyword").first().waitFor()
    await page.locator("math mfrac").waitFor()
  }
}
