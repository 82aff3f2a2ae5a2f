/** Notices on the desktop: asked for by the button alone, and never about what a person is looking at. */
import { ensure, same, show } from "../../../../tools/src/acceptance/Report.ts"
import { LONG, OVERLOADED, prompt, type Rig, seen, wait } from "./Rig.ts"

/** A browser without a desktop has no notices: this one writes down what the page asks of it. */
const RECORDED = `
  globalThis.asked = 0
  globalThis.notices = []
  globalThis.Notification = class extends EventTarget {
    static permission = "default"
    static requestPermission = async () => { asked++; return (Notification.permission = "granted") }
    constructor(title, { body, tag }) { super(); notices.push({ title, body, tag, notice: this }) }
    close() {}
  }`

export const run = (rig: Rig): Promise<void> =>
  show("desktop notices: asked for by a button, about turns that end or ask, none about the one in sight", async () => {
    const page = await rig.open()
    await page.addInitScript(RECORDED)
    await page.goto(await rig.create({ model: "local/plain" }))
    await seen(page.locator("h1"), "Conversation")
    same(await page.evaluate("asked"), 0, "questions of the page without a click")
    await page.getByRole("button", { name: "Notify me when a turn ends or asks" }).click()
    await page.getByRole("button", { name: "Switch desktop notifications off" }).waitFor()
    same(await page.evaluate("asked"), 1, "questions after the click")

    const refused = { status: 401, message: "Incorrect API key.", type: "authentication_error" }
    rig.provider.plan("noticed", OVERLOADED, refused)
    const other = await rig.open()
    await other.goto(await rig.create({ model: "local/noticed", retry: LONG }))
    await prompt(other, "A prompt elsewhere.")
    await wait(other).waitFor()
    await prompt(page, "A prompt in sight.")
    await seen(page, "Here is the answer.")
    await other.getByRole("button", { name: "Retry now" }).click()
    await seen(other.locator(".failure"), "Incorrect API key.")
    await page.waitForFunction(() =>
      (globalThis as unknown as { readonly notices: ReadonlyArray<{ readonly title: string }> }).notices.some(
        ({ title }) => title === "Failed: A prompt elsewhere."
      )
    )
    const found = await page.evaluate("JSON.stringify(notices)")
    ensure(String(found).includes("Incorrect API key."), `the notice has the error: ${String(found)}`)
    ensure(!String(found).includes("A prompt in sight."), `the turn in sight has no notice: ${String(found)}`)
    await page.evaluate(
      "notices.find(({ title }) => title.startsWith('Failed')).notice.dispatchEvent(new Event('click'))"
    )
    await seen(page.locator(".failure"), "Incorrect API key.")
    await page.reload()
    await page.getByRole("button", { name: "Notify me when a turn ends or asks" }).waitFor()
    await other.context().close()
    await page.context().close()
  })
