/** Calls of other programs through the gateway, on the page: the list, the wait, the night and health. */
import { ensure, same, show } from "../../../../tools/src/acceptance/Report.ts"
import { OVERLOADED, type Rig, seen, wait } from "./Rig.ts"

export const run = (rig: Rig): Promise<void> =>
  show(
    "rule X13: a call of another program is a turn: in the list, with its wait and commands, in the night and in health",
    async () => {
      rig.provider.plan("held", OVERLOADED)
      const answer = fetch(`${rig.service.url}/to/local/chat/completions`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          authorization: "Bearer of-the-program",
          "user-agent": "an-agent/1.0"
        },
        body: JSON.stringify({ model: "held", stream: true, messages: [{ role: "user", content: "Are you there?" }] })
      }).then((response) => response.text())
      const page = await rig.open()
      await page.goto(rig.service.url)
      const entry = page.getByRole("list", { name: "Calls of other programs" }).getByRole("link", { name: /an-agent/ })
      await seen(entry, /waits \d/)
      await entry.click()
      await seen(wait(page), OVERLOADED.message)
      await seen(page, /Its answer goes to that program/)
      for (const name of ["Rename", "Change model", "Send"])
        same(await page.getByRole("button", { name, exact: true }).count(), 0, `${name} for a call of a program`)
      const address = page.url()
      await page.getByRole("link", { name: "Report", exact: true }).click()
      await page.getByLabel("Tag", { exact: true }).fill("gateway")
      await seen(page, /^1 turn$/)
      await seen(page.locator(".row"), "an-agent: POST /chat/completions")
      await page.locator(".row").click()
      await page.getByRole("region", { name: "Explanation" }).getByRole("link", { name: "Conversation" }).click()
      same(page.url(), address, "the place that the night leads to")
      await page.getByRole("link", { name: "Health", exact: true }).click()
      await seen(page.locator(".endpoint").filter({ hasText: "local/held" }), "the client's own key")
      await page.goBack()
      await page.getByRole("button", { name: "Retry now" }).click()
      ensure((await answer).includes("the answer."), "the program gets the answer")
      await seen(page, "Answered at retry 1.")
      await seen(page, "The answer went to the program.")
      same(await page.getByRole("button", { name: "Retry", exact: true }).count(), 0, "retries of a call of a program")
      await page.context().close()
    }
  )
