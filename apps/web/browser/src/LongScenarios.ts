/** Ten thousand messages and five thousand turns in a real browser. */
import type { Locator } from "playwright-core"
import { ensure, show } from "../../../../tools/src/acceptance/Report.ts"
import type { Rig } from "./Rig.ts"
import * as Seed from "./Seed.ts"

const TURNS = 5_000

/** Few enough to be drawn in a frame. */
const MOST_DRAWN = 60

/** Runs the scenarios over a service of their own, which has a long past. */
export const run = async (rig: Rig): Promise<void> => {
  const own = await rig.serve()
  try {
    const address = await Seed.fill(own, TURNS)
    await messages(own, address)
    await timeline(own)
  } finally {
    await own.service.remove()
  }
}

// --- internal

const messages = (rig: Rig, address: string): Promise<void> =>
  show("10,000 messages: a conversation opens at the newest, and is scrolled to the first and back", async () => {
    const page = await rig.open()
    await page.goto(address)
    const list = page.locator(".messages")
    const newest = list.getByText(Seed.promptOf(TURNS - 1), { exact: true })
    await newest.waitFor()
    await page.getByLabel("Messages").press("Home")
    await list.getByText(Seed.promptOf(0), { exact: true }).waitFor()
    await fewAreDrawn(page.locator(".message"), "messages")
    await page.getByRole("button", { name: "To the newest" }).click()
    await newest.waitFor()
    await page.getByRole("button", { name: "To the newest" }).waitFor({ state: "detached" })
    await page.getByLabel("Messages").press("Home")
    await list.getByText(Seed.promptOf(0), { exact: true }).waitFor()
    await page.getByLabel("Messages").press("End")
    await newest.waitFor()
    await page.context().close()
  })

const timeline = (rig: Rig): Promise<void> =>
  show("5,000 turns on the line of time are listed, and scrolled to the last", async () => {
    const page = await rig.open()
    await page.goto(`${rig.service.url}/#/night`)
    await page.getByText(/^5,000 turns/).waitFor()
    await page.getByLabel("Turns on a line of time").press("End")
    await page.locator(`[aria-posinset="${TURNS}"] .course path`).first().waitFor({ state: "attached" })
    await fewAreDrawn(page.locator(".row"), "turns")
    await page.context().close()
  })

const fewAreDrawn = async (entries: Locator, what: string): Promise<void> => {
  const count = await entries.count()
  ensure(count > 0 && count <= MOST_DRAWN, `${what} that are drawn: ${count}`)
}
