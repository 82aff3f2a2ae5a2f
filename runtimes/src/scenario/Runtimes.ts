/**
 * Runs the scenario on a runtime, and compares it with the first one.
 *
 * Two lives of a turn: the first is killed in its second wait, the second goes on. The events of the second begin with what the first persisted.
 */
import type { Check } from "../../../tools/src/acceptance/Report.ts"
import * as Provider from "../Provider.ts"
import type { Life } from "./Life.ts"

/** A runtime, and how often its own `fetch` sends a POST again whose reused connection was cut before the response. */
export interface Runtime {
  readonly name: string
  readonly repeats: number
  readonly begin: (provider: Provider.Provider, model: string, life: string) => Life
}

const references = new Map<string, ReadonlyArray<string>>()

/** Runs the scenario with a function as the model, and with the adapter of the packages; then the call that is cut off. */
export const run = async ({ begin, name, repeats }: Runtime, page: string, check: Check): Promise<void> => {
  for (const model of ["function", "adapter"]) {
    const provider = await Provider.listen(page)
    const title = `${name}, ${model} as the model`
    try {
      const first = begin(provider, model, "1")
      for await (const line of first.lines) if (line === "waiting") await first.kill()
      const events = await eventsOf(begin(provider, model, "2"))
      const isAnswered = events.at(-1)?.includes('"completed"') === true
      check(`${title}: the turn is answered, over its death`, isAnswered ? undefined : events.join("\n"))
      const reference = references.get(model) ?? events
      references.set(model, reference)
      const isEqual = events.join("\n") === reference.join("\n")
      check(
        `${title}: the events and reasons of the others`,
        isEqual ? undefined : `${events.join("\n")}\ninstead of\n${reference.join("\n")}`
      )
      const requests = provider.requests()
      check(`${title}: five requests at the server`, requests === 5 ? undefined : `${requests} requests`)
    } catch (error) {
      check(`${title}: the scenario`, String(error))
    } finally {
      provider.close()
    }
  }
  const times = await repeatsOf(begin, page, "cut")
  check(
    `${name}: a POST on a reused connection that is cut is sent ${times + 1} ${times === 0 ? "time" : "times"}`,
    // A runtime that has several idle connections may try more than one of them.
    Math.min(times, 1) === repeats ? undefined : `docs/embedding.md says ${repeats}`
  )
}

/** How often the runtime sends a POST again. */
export const repeatsOf = async (begin: Runtime["begin"], page: string, life: string): Promise<number> => {
  const provider = await Provider.listen(page)
  try {
    const program = begin(provider, "cut", life)
    for await (const line of program.lines) if (line === "cut" || /^\d+$/.test(line)) await program.kill()
    return provider.cuts() - 2
  } finally {
    provider.close()
  }
}

/** The events of a life up to its result, and without what differs from run to run. */
export const eventsOf = async (life: Life): Promise<ReadonlyArray<string>> => {
  const events: Array<string> = []
  for await (const line of life.lines) {
    if (!line.startsWith("{")) continue
    events.push(comparable(line))
    if (line.startsWith('{"type":"result"')) break
  }
  await life.kill()
  return events
}

// --- internal

/** An event without what differs from run to run, and without the words of a runtime's own errors. */
const comparable = (line: string): string => {
  const event = JSON.parse(line.replaceAll(/"(\w+At|waitedMs|delayMs)":[\d.]+/g, '"$1":0'))
  if (event.type !== "provider-retry") return JSON.stringify(event)
  const { code: _, message: __, ...rest } = event
  return JSON.stringify(rest)
}
