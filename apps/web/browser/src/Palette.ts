/** The palette: by the keyboard alone, every command of a wait, and a conversation by its title. */
import { AxeBuilder } from "@axe-core/playwright"
import type { Page } from "playwright-core"
import { same, show } from "../../../../tools/src/acceptance/Report.ts"
import { OVERLOADED, type Rig, seen, wait, waiting } from "./Rig.ts"

export const run = (rig: Rig): Promise<void> =>
  show("the palette: commands of a wait and conversations by name, with the keyboard alone", async () => {
    const page = await waiting(rig, "palette", [OVERLOADED, { pieces: ["By name."] }])
    await page.getByRole("button", { name: "Rename" }).focus()
    await open(page)
    same((await new AxeBuilder({ page }).setLegacyMode(true).analyze()).violations, [], "violations of accessibility")
    for (const name of [
      "Retry now",
      "Give up",
      "Wait until …",
      // These come with calls of their own.
      "Switch to local/palette",
      "Extend budget by 8 h",
      "Stop this turn"
    ])
      await page.getByRole("dialog").getByRole("option", { name, exact: true }).waitFor()
    await page.keyboard.press("Escape")
    await page.getByRole("dialog").waitFor({ state: "detached" })
    same(
      await page.evaluate(() => document.activeElement?.textContent),
      "Rename",
      "the focus after the palette was left"
    )
    await choose(page, "extend 8 h")
    await seen(wait(page), /of 16 h waiting time left/)
    await choose(page, "until")
    same(
      await page.getByLabel("Wait until", { exact: true }).evaluate((field) => field === document.activeElement),
      true,
      "the focus is on the field of the form"
    )
    await choose(page, "retry now")
    await seen(wait(page), "Retry 2")
    await choose(page, "retry now")
    await seen(page, "By name.")
    await open(page)
    same((await options(page).allInnerTexts()).includes("Retry now"), false, "commands of a wait that is over")
    await page.keyboard.press("Escape")

    await rig.create({ model: "local/plain", title: "A rare title of the palette" })
    await open(page)
    await page.keyboard.type("rare title")
    await options(page).filter({ hasText: "A rare title of the palette" }).waitFor()
    await page.keyboard.press("Enter")
    await seen(page.locator("h1"), "A rare title of the palette")
    await open(page)
    await page.keyboard.type("no such command")
    await seen(page.getByRole("dialog"), "Nothing has this name.")
    await page.keyboard.press("Escape")
    await choose(page, "the night")
    await seen(page.locator("h1"), "Report of the night")
    await page.context().close()
  })

// --- internal

const options = (page: Page) => page.getByRole("dialog").getByRole("option")

const open = async (page: Page): Promise<void> => {
  await page.keyboard.press("Control+k")
  await options(page).first().waitFor()
}

/** Chooses the first action that a text finds. */
const choose = async (page: Page, text: string): Promise<void> => {
  await open(page)
  await page.keyboard.type(text)
  await page.keyboard.press("Enter")
}
