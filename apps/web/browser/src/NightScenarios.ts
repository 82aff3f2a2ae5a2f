/** The night in a real browser: commands for many turns, and the line of time. */
import { AxeBuilder } from "@axe-core/playwright"
import type { Page } from "playwright-core"
import { ensure, same, show } from "../../../../tools/src/acceptance/Report.ts"
import { OVERLOADED, type Rig, seen } from "./Rig.ts"

/** Runs the scenarios of the night. */
export const run = async (rig: Rig): Promise<void> => {
  await Promise.all([bulk(rig), timeline(rig), groups(rig)])
}

// --- internal

const REFUSED = { status: 401, message: "Incorrect API key provided.", type: "authentication_error" }

/** Submits a turn, and waits until it has a status. */
const submit = async (rig: Rig, model: string, tag: string, status: string, more: object = {}): Promise<void> => {
  const response = await fetch(`${rig.service.url}/v1/turns`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ prompt: `A turn of ${model}`, model: `local/${model}`, tags: [tag], ...more })
  })
  const { turnId } = (await response.json()) as { readonly turnId: string }
  for (;;) {
    const turn = (await (await fetch(`${rig.service.url}/v1/turns/${turnId}`)).json()) as { readonly status: string }
    if (turn.status === status) return
  }
}

const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name })

const timeline = (rig: Rig) =>
  show(
    "rule X9: a turn's attempts, waits and switches are on its line of time, and a click explains the decision there",
    async () => {
      const tag = "of-the-line"
      rig.provider.plan("line", OVERLOADED, { ...OVERLOADED, status: 529 }, OVERLOADED)
      rig.provider.plan("line-spare", OVERLOADED, { pieces: ["Answered."] })
      const waits = { schedule: { type: "steps", delays: ["100 millis", "300 millis"] } }
      const chains = { default: ["other/line-spare"] }
      const retry = { ...waits, routing: { type: "fallback-chain", chains, cooldown: "200 millis" } }
      await submit(rig, "line", tag, "completed", { retry })
      const page = await rig.open()
      await page.goto(`${rig.service.url}/#/night`)
      await page.getByLabel("Period").selectOption("1")
      await page.getByLabel("Tag", { exact: true }).fill(tag)
      await seen(page, /^1 turn$/)
      const search = page.getByLabel("Search", { exact: true })
      await search.pressSequentially("of line")
      same(await search.inputValue(), "of line", "a search of two words")
      await seen(page, /^1 turn$/)
      await search.fill("")
      const row = page.locator(".row")
      await row.locator(".course path.answered").waitFor({ state: "attached" })
      const shapes = await row
        .locator(".course path")
        .evaluateAll((all) => all.map((path) => path.getAttribute("class")))
      for (const shape of ["call", "failed", "switched"])
        ensure(shapes.includes(shape), `${shape} is drawn: ${shapes.join()}`)
      await row.filter({ hasText: /failed calls? \(.*on local\/line, then other\/line-spare/ }).waitFor()

      // Before the first attempt the first is the nearest; behind the last one, the last.
      const line = row.locator(".line-of-time")
      const box = await line.boundingBox()
      ensure(box !== null, "the line of time has a place")
      const { height = 0, width = 0 } = box ?? {}
      const why = page.getByRole("region", { name: "Explanation" })
      await line.click({ position: { x: 2, y: height / 2 } })
      await seen(why.locator("li.asked"), /^Attempt 1 failed/)
      same(
        await why.locator("li.asked").evaluate((item) => item === document.activeElement),
        true,
        "the focus on the attempt"
      )
      await page.keyboard.press("Escape")
      await why.waitFor({ state: "detached" })
      await line.click({ position: { x: width - 2, y: height / 2 } })
      await why.locator("li.asked").waitFor()
      await page.keyboard.press("Escape")
      await why.waitFor({ state: "detached" })
      await row.focus()
      await page.keyboard.press("Enter")
      await why.waitFor()
      same(await why.locator("li.asked").count(), 0, "attempts that a key asked about")
      await page.context().close()
    }
  )

const groups = (rig: Rig) =>
  show("turns that failed alike are one row with their count, which opens and closes by keyboard", async () => {
    const tag = "of-a-group"
    rig.provider.plan("alike", REFUSED, REFUSED, REFUSED, { pieces: ["Answered."] })
    for (const status of ["failed", "failed", "failed", "completed"]) await submit(rig, "alike", tag, status)
    const page = await rig.open()
    await page.goto(`${rig.service.url}/#/night`)
    await page.getByLabel("Tag", { exact: true }).fill(tag)
    await seen(page, /^4 turns$/)
    const group = button(page, /3 × failed The key was not accepted \(401\): Incorrect API key provided\. local\/alike/)
    same(await page.locator(".row").count(), 2, "rows: the answer, and the group")
    await group.press("Enter")
    await page.locator(".row .course path.failed").nth(3).waitFor({ state: "attached" })
    same(await page.locator(".row").count(), 5, "rows of an open group")
    same(await group.getAttribute("aria-expanded"), "true", "what is said of it")
    same((await new AxeBuilder({ page }).setLegacyMode(true).analyze()).violations, [], "violations of accessibility")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await page.getByRole("region", { name: "Explanation" }).waitFor()
    await page.keyboard.press("Escape")
    await group.press("Enter")
    await page.locator(".row").nth(2).waitFor({ state: "detached" })
    await page.context().close()
  })

const bulk = (rig: Rig) =>
  show("commands for many turns: counted, confirmed by keyboard, and reported in words", async () => {
    const tag = "of-many"
    rig.provider.plan("many-wrong", REFUSED, REFUSED, { pieces: ["Retried."] })
    rig.provider.plan("many-late", OVERLOADED, OVERLOADED)
    rig.provider.plan("many-other", OVERLOADED)
    for (const model of ["many-wrong", "many-wrong"]) await submit(rig, model, tag, "failed")
    for (const model of ["many-late", "many-late", "many-other"]) await submit(rig, model, tag, "waiting")
    const page = await rig.open()
    await page.goto(`${rig.service.url}/#/night`)
    await page.getByLabel("Tag", { exact: true }).fill(tag)
    await seen(page, /^5 turns$/)
    const dialog = page.getByRole("dialog")
    const result = page.locator(".bulk-result")

    // Esc leaves all as it is, and gives the focus back.
    await button(page, "Give up 3 waiting …").focus()
    await page.keyboard.press("Enter")
    await seen(dialog, "Give up 3 turns that wait for 2 endpoints?")
    same((await new AxeBuilder({ page }).setLegacyMode(true).analyze()).violations, [], "violations of accessibility")
    await page.keyboard.press("Escape")
    await dialog.waitFor({ state: "detached" })
    same(await page.evaluate(() => document.activeElement?.textContent), "Give up 3 waiting …", "the focus")

    await page.keyboard.press("Enter")
    await dialog.getByLabel("Only those of").selectOption("local/many-late")
    await seen(dialog, "Give up 2 turns that wait for local/many-late?")
    await button(page, "Give up 2").focus()
    await page.keyboard.press("Enter")
    await seen(result, "2 turns given up.")
    same(await result.getAttribute("role"), "status", "what screen readers announce")
    same(await result.evaluate((element) => element === document.activeElement), true, "the focus on the result")

    await button(page, "Switch 1 waiting …").click()
    await dialog.getByLabel("Go on with").fill("nowhere/at-all")
    await page.keyboard.press("Enter")
    await seen(result, /0 turns switched, 1 refused\..*nowhere/)
    await button(page, "Switch 1 waiting …").click()
    await dialog.getByLabel("Go on with").fill("other/plain")
    await page.keyboard.press("Enter")
    await seen(result, "1 turn switched.")

    // In the list: the two that were given up have failed, too.
    await page.getByRole("link", { name: "Conversations", exact: true }).click()
    const ofTag = page.getByRole("button", { name: `Only conversations with the tag ${tag}` }).first()
    await ofTag.waitFor()
    ensure((await button(page, /^Retry \d+ failed/).count()) === 0, "no commands without a filter")
    await ofTag.click()
    await button(page, "Retry 4 failed …").click()
    await seen(dialog, "Retry 4 turns that failed at 2 endpoints?")
    await button(page, /^Retry 4$/).click()
    await seen(page.locator(".bulk-result"), "4 turns retried.")
    await page.context().close()
  })
