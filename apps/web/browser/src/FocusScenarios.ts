/** The place of the keyboard: where the focus is after what had it has gone away. */
import { type Page } from "playwright-core"
import { same, show } from "../../../../tools/src/acceptance/Report.ts"
import { OVERLOADED, prompt, type Rig, seen, wait, waiting } from "./Rig.ts"

export const run = async (rig: Rig): Promise<void> => {
  await show("the focus stays at the wait: its forms give it back, and a wait that ends leaves its place", async () => {
    const page = await waiting(rig, "focus", [OVERLOADED, { pieces: ["With the keyboard."] }])
    for (const name of ["Wait until …", "Switch model …"]) {
      await press(page, name)
      same(await focused(page), "INPUT", `the focus when ${name} opens`)
      await page.keyboard.press("Escape")
      same(await focused(page), name, `the focus when ${name} is left`)
    }
    await press(page, "Extend budget …")
    await press(page, "1 h")
    same(await focused(page), "Extend budget …", "the focus after a budget")
    await seen(wait(page), /of 9 h waiting time left/)
    await press(page, "Wait until …")
    await page.keyboard.press("Enter")
    same(await focused(page), "Wait until …", "the focus after a time")
    await press(page, "Retry now")
    await seen(wait(page), "Retry 2")
    // The next wait is in the place of the first.
    await page.keyboard.press("Tab")
    same(await focused(page), "Retry now", "the focus behind the end of a wait")
    await page.keyboard.press("Enter")
    await seen(page, "With the keyboard.")
    await page.keyboard.press("Tab")
    same(await focused(page), "Why?", "the focus behind the answer")
    await page.keyboard.press("Tab")
    same(await focused(page), "TEXTAREA", "the focus behind the explanation")
    await page.context().close()
  })
  await show("the focus stays where a filter, a title, a new conversation and an explanation were", async () => {
    const page = await rig.open()
    await page.goto(`${rig.service.url}/#/new`)
    await page.getByLabel("Tags").fill("of-focus")
    await prompt(page, "Where is the focus?")
    await seen(page, "Here is the answer.")
    same(await page.evaluate(() => document.activeElement?.id), "detail", "the focus after a first prompt")
    await press(page, "Change model")
    await page.keyboard.press("Escape")
    same(await focused(page), "Change model", "the focus after a model")
    await page.getByRole("button", { name: "Only conversations with the tag of-focus" }).click()
    await press(page, /show all tags/)
    same(
      await page.evaluate(() => document.activeElement?.getAttribute("aria-label")),
      "Conversations",
      "the focus after a filter"
    )
    await page.getByRole("link", { name: "Report", exact: true }).click()
    await page.getByLabel("Tag", { exact: true }).fill("of-focus")
    await seen(page, /^1 turn$/)
    await page.locator(".row").focus()
    for (const close of ["Escape", "Close"]) {
      await page.keyboard.press("Enter")
      await seen(page.getByRole("region", { name: "Explanation" }), /attempt/i)
      if (close === "Escape") await page.keyboard.press(close)
      else await press(page, close)
      same(await page.locator(".row").evaluate((row) => row === document.activeElement), true, `the row after ${close}`)
    }
    await page.context().close()
  })
}

// --- internal

/** Presses a button by the keyboard, once no command is under way. */
const press = async (page: Page, name: string | RegExp): Promise<void> => {
  await page.getByRole("button", { name, exact: true, disabled: false }).focus()
  await page.keyboard.press("Enter")
}

/** The words of the button that has the focus, or the kind of another element. */
const focused = (page: Page): Promise<string | null | undefined> =>
  page.evaluate(() => {
    const element = document.activeElement
    return element?.tagName === "BUTTON" ? element.textContent : element?.tagName
  })
