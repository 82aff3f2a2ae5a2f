/** The page while nothing happens but countdowns: a wait, beside a list of conversations that wait. */
import { setTimeout as sleep } from "node:timers/promises"
import * as Rig from "../Rig.ts"
import * as BarePages from "./BarePages.ts"
import * as Frames from "./Frames.ts"
import * as Table from "./Table.ts"

const MS = 5_000

export const measure = async (rig: Rig.Rig, bare: BarePages.BarePages, rounds: number): Promise<void> => {
  rig.provider.answer("waits", () => Rig.OVERLOADED)
  const addresses = []
  for (let n = 0; n < BarePages.CLOCKS; n++) addresses.push(await submit(rig, n))
  const [ours, plain] = [[] as Array<Frames.Frames>, [] as Array<Frames.Frames>]
  for (let round = 0; round < rounds; round++) {
    Table.progress(`${BarePages.CLOCKS} countdowns, round ${round + 1} of ${rounds}`)
    plain.push(await rest(rig, `${bare.url}/clocks`, "p"))
    ours.push(await rest(rig, addresses[0] ?? "", ".wait"))
  }
  console.log(
    `A wait beside ${BarePages.CLOCKS} countdowns, and as many bare lines that change each second (median of ${rounds})`
  )
  Table.frames(ours, plain, "s")
}

// --- internal

const rest = async (rig: Rig.Rig, address: string, shown: string): Promise<Frames.Frames> => {
  const page = await rig.open()
  await page.goto(address)
  await page.locator(shown).first().waitFor()
  const frames = await Frames.during(rig, page, () => sleep(MS))
  await page.context().close()
  return frames
}

/** Submits a turn that waits for an hour; returns the address of its conversation. */
const submit = async ({ service }: Rig.Rig, n: number): Promise<string> => {
  const response = await fetch(`${service.url}/v1/turns`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ prompt: `Waits ${n}`, model: "local/waits", retry: Rig.LONG })
  })
  const { conversationId } = (await response.json()) as { readonly conversationId: string }
  return `${service.url}/#/c/${conversationId}`
}
