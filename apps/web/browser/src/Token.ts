/** A service with a token asks once a browser. */
import { AxeBuilder } from "@axe-core/playwright"
import * as Service from "../../../../tools/src/acceptance/Service.ts"
import { same, show } from "../../../../tools/src/acceptance/Report.ts"
import { type Rig, seen } from "./Rig.ts"

const TOKEN = "a-token-of-some-length"

export const run = (rig: Rig) =>
  show("with a token the page asks once, and keeps it where no script can read it", async () => {
    const service = await Service.make(rig.program, { model: "simulated/steady", server: { token: TOKEN } })
    try {
      await service.start()
      // The refusal of a wrong token is an error in the console of browsers.
      const page = await rig.open({ mayFail: true })
      await page.goto(service.url)
      const field = page.getByLabel("Token of this service")
      await field.fill("another token of some length")
      await page.keyboard.press("Enter")
      await seen(page.getByRole("alert"), "This is not the token of the service.")
      same((await new AxeBuilder({ page }).analyze()).violations, [], "violations of accessibility")
      await field.fill(TOKEN)
      await page.keyboard.press("Enter")
      await seen(page, "No conversations yet.")
      same(await page.evaluate("document.cookie"), "", "what scripts read of the cookie")
      const [cookie] = await page.context().cookies()
      same([cookie?.httpOnly, cookie?.sameSite], [true, "Strict"], "the cookie")
      await page.reload()
      await seen(page, "No conversations yet.")
      const other = await rig.open({ mayFail: true })
      await other.goto(service.url)
      await other.getByLabel("Token of this service").waitFor()
      await other.context().close()
      await page.context().close()
    } finally {
      await service.remove()
    }
  })
