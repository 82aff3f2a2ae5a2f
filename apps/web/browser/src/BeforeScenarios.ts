/** Before the night in a real browser: the schedule, dry runs side by side, errors beside their fields, and the configuration to copy. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { Page } from "playwright-core"
import * as Service from "../../../../tools/src/acceptance/Service.ts"
import { ensure, same, show } from "../../../../tools/src/acceptance/Report.ts"
import { type Rig, seen } from "./Rig.ts"

/** Runs the scenarios. */
export const run = async (rig: Rig): Promise<void> => {
  await Promise.all([trial(rig), faults(rig)])
}

// --- internal

const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name })

/** Settings that are half typed may be refused. */
const open = async (rig: Rig): Promise<Page> => {
  const page = await rig.open({ mayFail: true, permissions: ["clipboard-read", "clipboard-write"] })
  await page.goto(rig.service.url)
  await page.getByRole("link", { name: "Dry runs", exact: true }).click()
  await page
    .getByRole("img", { name: /^as configured: / })
    .first()
    .waitFor()
  return page
}

const trial = (rig: Rig) =>
  show(
    "rule X10: changed settings are tried beside the configuration, and copied as a configuration for the service",
    async () => {
      const page = await open(rig)
      await page.getByLabel("Outages, one a line").fill("529 for 3h")
      await page.getByLabel("Profile").selectOption("interactive")
      await page.getByLabel("Retries at most").fill("5")
      await page.getByLabel("Budget of waiting").fill("2 hours")
      await page.getByLabel("Schedule", { exact: true }).selectOption("exponential")
      await page.getByLabel("Its waits, or its first wait").fill("2 seconds")
      await page.getByRole("img", { name: "as changed: 5 retries within 1 m 2 s, then the turn fails" }).waitFor()
      await page.keyboard.press("Enter")
      const result = page.getByRole("region", { name: "Result of the dry run" })
      await seen(result.getByRole("status"), "as changed: 0 of 20 answered, 20 failed.")
      await seen(result, "as changed: 20 failed because no retries were left (overloaded)")
      same(await result.getByRole("columnheader").allTextContents(), ["as configured", "as changed"], "the columns")
      const picture = await result
        .locator("img")
        .evaluate((image: HTMLImageElement) => image.decode().then(() => image.naturalWidth))
      ensure(picture > 0, "the picture is shown")

      await page.getByRole("region", { name: "As configuration" }).getByRole("button", { name: "Copy" }).click()
      await button(page, "Copied").waitFor()
      const copied: unknown = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()))
      same(
        copied,
        {
          retry: {
            profile: "interactive",
            schedule: { type: "exponential", base: "2 seconds" },
            maxRetries: 5,
            budget: "2 hours"
          }
        },
        "the configuration"
      )
      const service = await Service.make(rig.program, {
        ...(JSON.parse(readFileSync(join(rig.service.folder, "holdfast.config.json"), "utf8")) as object),
        ...(copied as object)
      })
      try {
        await service.start()
        const response = await fetch(`${service.url}/v1/schedule`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: "{}"
        })
        const { rows } = (await response.json()) as { readonly rows: ReadonlyArray<unknown> }
        same(rows.length, 5, "retries of the service with that configuration")
      } finally {
        await service.remove()
      }
      await button(page, "Undo the changes").click()
      await page.getByRole("img", { name: /^as changed/ }).waitFor({ state: "detached" })
      await page.context().close()
    }
  )

const faults = (rig: Rig) =>
  show(
    "the service's errors are beside their fields, and go when they are mended; a long run can be stopped",
    async () => {
      const page = await rig.open({ mayFail: true })
      await page.goto(`${rig.service.url}/#/before`)
      const field = page.getByLabel("Budget of waiting")
      await field.fill("8 hrs")
      await seen(page, /Did you mean "8 hours"\?/)
      same(await field.getAttribute("aria-invalid"), "true", "the field")
      const described = await field.getAttribute("aria-describedby")
      ensure(
        described !== null && (await page.locator(`[id="${described}"]`).textContent())?.includes("8 hrs") === true,
        "the error describes the field"
      )
      await field.fill("8 hours")
      await page.locator("[aria-invalid=true]").waitFor({ state: "detached" })
      await page.getByLabel("Outages, one a line").fill("529 fro 7h")
      await button(page, "Try it").click()
      await seen(page, /"529 fro 7h" is not valid/)
      same(await page.getByLabel("Outages, one a line").getAttribute("aria-invalid"), "true", "the field of outages")

      await page.getByLabel("Outages, one a line").fill("529 for 40h")
      await page.locator("[aria-invalid=true]").waitFor({ state: "detached" })
      await page.getByLabel("Turns within a minute").fill("1000")
      await button(page, "Try it").click()
      await page.getByRole("progressbar", { name: "The dry run" }).waitFor()
      await seen(page, "Simulates 1,000 turns, up to 48 hours, as configured, then as changed.")
      await button(page, "Stop").click()
      await button(page, "Stop").waitFor({ state: "detached" })
      same(await page.getByRole("region", { name: "Result of the dry run" }).count(), 0, "results of a stopped run")
      await page.context().close()
    }
  )
