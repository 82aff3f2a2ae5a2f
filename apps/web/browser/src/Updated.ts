/** The service is updated under an open tab: its page has other files then. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import * as Service from "../../../../tools/src/acceptance/Service.ts"
import { same, show } from "../../../../tools/src/acceptance/Report.ts"
import { type Rig, seen } from "./Rig.ts"

export const run = (rig: Rig): Promise<void> =>
  show(
    "an old tab after an update: the page offers the new one, and a part that is gone loads it by itself",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "holdfast-update-"))
      cpSync(dirname(rig.program), folder, { recursive: true })
      const service = await Service.make(join(folder, "main.js"), { model: "simulated/steady" })
      try {
        await service.start()
        const page = await rig.open({ mayFail: true })
        await page.goto(`${service.url}/#/new`)
        await page.getByLabel("Prompt", { exact: true }).fill("Half written")
        const old = await page.getAttribute("script[type=module]", "src")

        await service.kill()
        update(join(folder, "page"))
        await service.start()
        await page.evaluate(() => dispatchEvent(new Event("visibilitychange")))
        await seen(page.getByRole("status"), "The service was updated, and has a newer page.")
        same(await page.getByLabel("Prompt", { exact: true }).inputValue(), "Half written", "the prompt")

        await page.getByRole("link", { name: "Health", exact: true }).click()
        await page.getByRole("heading", { name: "Health", exact: true }).waitFor()
        same(new URL(page.url()).hash, "#/health", "the place")
        same((await page.getAttribute("script[type=module]", "src")) === old, false, "the old page is still there")
        same(await page.getByText("has a newer page").count(), 0, "notices of a newer page")
        await page.context().close()
      } finally {
        await service.remove()
        rmSync(folder, { recursive: true, force: true })
      }
    }
  )

// --- internal

/** Gives each file of the page another name, as another build does. */
const update = (page: string): void => {
  const assets = join(page, "assets")
  const names = readdirSync(assets)
  const newName = (name: string): string => name.replace(/^(.*)\.(\w+)$/, "$1x.$2")
  for (const path of [
    join(page, "index.html"),
    ...names.filter((name) => /\.(?:js|css)$/.test(name)).map((name) => join(assets, name))
  ]) {
    writeFileSync(
      path,
      names.reduce((text, name) => text.replaceAll(name, newName(name)), readFileSync(path, "utf8"))
    )
  }
  for (const name of names) renameSync(join(assets, name), join(assets, newName(name)))
}
