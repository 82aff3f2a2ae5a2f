/** A service with a token asks once a browser. */
import { AxeBuilder } from "@axe-core/playwright"
import * as Service from "../../../../tools/src/acceptance/Service.ts"
import { same, show } from "../../../../tools/src/acceptance/Report.ts"
import { type Rig, seen } from "./Rig.ts"

const TOKEN = "a-token-of-some-length"

export const run = (rig: Rig) =>
  show(
    "with a token the page asks once, and keeps a session in place of the token, which no other port gets",
    async () => {
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
        same(await page.context().cookies(), [], "cookies, which browsers send to all ports of a machine")
        const stored = String(await page.evaluate("JSON.stringify(localStorage)"))
        same([stored.includes("page."), stored.includes(TOKEN)], [true, false], "a session and no token in the storage")
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
    }
  )
