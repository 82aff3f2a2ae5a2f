/** An answer of 200 deltas a second as it arrives, beside the same text appended to a bare page. */
import * as Rig from "../Rig.ts"
import type { BarePages } from "./BarePages.ts"
import * as Frames from "./Frames.ts"
import * as Table from "./Table.ts"

/** Between two deltas. */
export const EVERY_MS = 5

const DELTAS = 2_000

const SENTENCES = [
  "The **queue** was drained at `02:14`, ",
  "and the next attempt came 30 s later.\n\n",
  "- one endpoint stayed down\n",
  "- the other one answered\n\n",
  "```ts\nconst delay = schedule",
  "[attempt] ?? tail\n",
  "```\n\n",
  "| step | waited |\n|---|---|\n| 1 | 5 s |\n\n"
]

/** The deltas. */
export const PIECES = Array.from({ length: DELTAS }, (_, index) => SENTENCES[index % SENTENCES.length] ?? "")

export const measure = async (rig: Rig.Rig, bare: BarePages, rounds: number): Promise<void> => {
  const [ours, plain] = [[] as Array<Frames.Frames>, [] as Array<Frames.Frames>]
  for (let round = 0; round < rounds; round++) {
    Table.progress(`streaming, round ${round + 1} of ${rounds}`)
    plain.push(await plainStream(rig, bare))
    ours.push(await stream(rig))
  }
  console.log(
    `${1_000 / EVERY_MS} deltas/s for ${(DELTAS * EVERY_MS) / 1_000} s, beside a stream of text nodes (median of ${rounds})`
  )
  Table.frames(ours, plain, "s")
}

// --- internal

const plainStream = async (rig: Rig.Rig, bare: BarePages): Promise<Frames.Frames> => {
  const page = await rig.open()
  await page.goto(`${bare.url}/stream`)
  const frames = await Frames.during(rig, page, () => Frames.until(page, "document.title === 'ended'"))
  await page.context().close()
  return frames
}

const stream = async (rig: Rig.Rig): Promise<Frames.Frames> => {
  rig.provider.plan("fast", { paced: PIECES, everyMs: EVERY_MS })
  const page = await rig.open()
  await page.goto(await rig.create({ model: "local/fast" }))
  await Rig.prompt(page, "Write.")
  await page.locator(".arriving").waitFor()
  const frames = await Frames.during(rig, page, () =>
    Frames.until(page, "document.querySelector('.arriving') === null")
  )
  await page.context().close()
  return frames
}
