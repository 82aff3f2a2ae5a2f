/** Health: an endpoint that fails and its gate, and the configuration is searched. */
import { same, show } from "../../../../tools/src/acceptance/Report.ts"
import { type Rig, seen, waiting } from "./Rig.ts"

export const run = async (rig: Rig): Promise<void> => {
  await show(
    "the page of health shows an endpoint that fails and its gate, which one refusal does not shut, and the answer (X5)",
    async () => {
      const waits = await waiting(rig, "gated", [{ pieces: ["Good morning."] }])
      const page = await rig.open()
      await page.goto(`${rig.service.url}/#/health`)
      const endpoint = page.locator(".endpoint").filter({ has: page.getByRole("heading", { name: "local/gated" }) })
      await seen(endpoint, "failing")
      await seen(endpoint, "Gate open.")
      await seen(endpoint, /Every turn may call\. 1 turn waits for a time of its own/)
      await seen(endpoint, /Last failure .*: The provider is overloaded/)
      await endpoint.getByRole("img", { name: "The last hour: 1 call, 1 failed" }).waitFor()
      await waits.getByRole("button", { name: "Retry now", exact: true }).click()
      await seen(waits, "Good morning.")
      await seen(endpoint, "answering")
      await seen(endpoint, "Gate open.")
      await endpoint.getByRole("img", { name: "The last hour: 2 calls, 1 failed" }).waitFor()
      await waits.context().close()
      await page.context().close()
    }
  )
  await show("the configuration in force is searched by the keyboard, with the source of each key", async () => {
    const page = await rig.open()
    await page.goto(rig.service.url)
    await page.getByRole("link", { name: "Health", exact: true }).focus()
    await page.keyboard.press("Enter")
    const search = page.getByRole("search", { name: "Configuration" }).getByRole("searchbox")
    await search.focus()
    await page.keyboard.type("retry BUDGET")
    await seen(page, /1 of \d+ keys/)
    same(
      await page.getByRole("table", { name: "Configuration" }).getByRole("cell").allInnerTexts(),
      ["8 h", "profile overnight"],
      "the value and its source"
    )
    await search.fill("retry.schedule")
    await seen(page.getByRole("table", { name: "Configuration" }), "holdfast.config.json, line 1")
    await page.context().close()
  })
}
