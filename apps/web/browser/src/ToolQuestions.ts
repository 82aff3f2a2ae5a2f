/** Questions about tool calls, answered by the keyboard alone; and what moves where a person wants no motion. */
import type { Locator, Page } from "playwright-core"
import { same, show } from "../../../../tools/src/acceptance/Report.ts"
import { prompt, type Rig, seen } from "./Rig.ts"

export const run = async (rig: Rig): Promise<void> => {
  await show(
    "a tool call that needs approval is shown with its arguments, and approved and refused by the keyboard",
    async () => {
      const call = (path: string) => ({ tool: { name: "write_file", input: { path } } })
      rig.provider.plan("asking", call("a.txt"), call("b.txt"), { pieces: ["One was written."] })
      const page = await rig.open()
      await page.goto(await rig.create({ model: "local/asking" }))
      await prompt(page, "Write both files.")
      const question = page.getByRole("region", { name: "A tool call needs your approval" })
      await seen(question, /"a\.txt"/)
      await seen(page.locator(".entry.selected"), /asks you/)
      await tabTo(page, page.getByRole("button", { name: "Approve", exact: true }))
      await page.keyboard.press("Enter")
      await seen(question, /"b\.txt"/)
      await tabTo(page, page.getByLabel("Reason for the model"))
      await page.keyboard.type("Not this one")
      await page.keyboard.press("Enter")
      await seen(page, "One was written.")
      same(await question.count(), 0, "questions that are left")
      same(await page.getByText(/^Answered at/).count(), 0, "retries, where there was none")
      for (const fold of await page.locator("details.tool > summary").all()) await fold.click()
      await seen(page.locator("details.tool").last(), /Not this one/)
      await page.context().close()
    }
  )
  await show("an answer that holds for good is shown, and taken back by the keyboard", async () => {
    const call = { tool: { name: "write_file", input: { path: "a.txt" } } }
    const answered = { pieces: ["It is done."] }
    rig.provider.plan("always", call, answered, call, answered, call, { pieces: ["Asked again."] })
    const page = await rig.open()
    await page.goto(await rig.create({ model: "local/always" }))
    const question = page.getByRole("region", { name: "A tool call needs your approval" })
    await prompt(page, "Write it.")
    await question.getByRole("button", { name: "Always approve" }).click()
    await seen(page, "It is done.")
    await seen(page.getByRole("list", { name: "Tools without a question" }), "always runs")
    await prompt(page, "And again.")
    await page.getByText("It is done.").nth(1).waitFor()
    await tabTo(page, page.getByRole("button", { name: "Ask again about write_file" }))
    await page.keyboard.press("Enter")
    await page.getByRole("list", { name: "Tools without a question" }).waitFor({ state: "detached" })
    await prompt(page, "Once more.")
    await question.waitFor()
    await tabTo(page, question.getByRole("button", { name: "Approve", exact: true }))
    await page.keyboard.press("Enter")
    await seen(page, "Asked again.")
    await page.context().close()
  })
  await show("nothing moves by itself for a person who wants less motion", async () => {
    const moving = async (reducedMotion: "reduce" | "no-preference"): Promise<number> => {
      rig.provider.plan("still", { pieces: [new Promise(() => {})] })
      const page = await rig.open({ reducedMotion })
      await page.goto(await rig.create({ model: "local/still" }))
      await prompt(page, "Work.")
      await page.locator(".pulse").first().waitFor()
      const count = await page.evaluate(() => document.getAnimations().length)
      await page.context().close()
      return count
    }
    same([(await moving("no-preference")) > 0, await moving("reduce")], [true, 0], "animations, without and with")
  })
}

// --- internal

/** Moves the focus by the keyboard until it is on a button or a field. */
const tabTo = async (page: Page, target: Locator): Promise<void> => {
  await target.waitFor()
  await page.getByLabel("Messages").focus()
  while (!(await target.evaluate((element) => element === document.activeElement))) await page.keyboard.press("Tab")
}
