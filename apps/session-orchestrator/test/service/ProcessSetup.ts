/** Provides e2e tests with responses, configurations, processes and turns. */
import { assert } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Effect } from "effect"
import * as path from "node:path"
import * as Process from "./Process.ts"
import * as Service from "./Service.ts"

const { ErrorBody, answerFrames } = ScriptedServer

export const overloaded = { status: 529, body: ErrorBody.envelope("overloaded", "anthropic") }

export const answer = (text: string) => ({ frames: answerFrames("openai", text) })

/** An answer that stops after so many of its frames until its gate is open; the first is a preamble, each other one a word. */
export const gated = (text: string, behind: number) => {
  const gate = ScriptedServer.gate()
  const frames = answerFrames("openai", text)
  return { gate, response: { frames: [...frames.slice(0, behind), gate, ...frames.slice(behind)] } }
}

/** Answers turns by their prompts, each with its own responses one by one. Returns the prompts that have called so far, in order. */
export const script = (
  provider: Pick<ScriptedServer.ScriptedServer, "fallback">,
  responses: Readonly<Record<string, ReadonlyArray<ScriptedServer.ScriptedResponse>>>
): ReadonlyArray<string> => {
  const calls: Array<string> = []
  provider.fallback(({ body }) => {
    const prompt = Object.keys(responses).find((prompt) => body.includes(prompt)) ?? ""
    const nth = calls.filter((call) => call === prompt).length
    calls.push(prompt)
    // As a provider does: a call too many ends a turn instead of prolonging it.
    return (
      responses[prompt]?.[nth] ?? { status: 400, body: `No response is scripted for call ${nth + 1} of "${prompt}".` }
    )
  })
  return calls
}

/** The database in a process's directory. */
export const databaseIn = (directory: string): string => path.join(directory, DATABASE)

const DATABASE = "data/holdfast.db"

export interface Options {
  readonly delays?: ReadonlyArray<string>
  /** Further settings of retries. */
  readonly retry?: object
  /** Without gates a turn sleeps its own waits and makes its own calls, independent of other turns. */
  readonly isGated?: boolean
}

/** A configuration whose one model is the scripted provider's. */
export const configOf = (
  provider: { readonly url: string },
  { delays = ["20 millis"], isGated = true, retry = {} }: Options = {}
) => ({
  providers: { scripted: { type: "openai-compatible", baseUrl: `${provider.url}/v1` } },
  model: "scripted/m",
  database: { path: DATABASE },
  gate: { enabled: isGated },
  retry: { schedule: { type: "steps", delays }, ...retry }
})

/** A provider, and a function that starts processes over one file in a directory. */
export const setupIn = Effect.fnUntraced(function* (directory: string, options?: Options) {
  const provider = yield* ScriptedServer.start()
  const config = configOf(provider, options)
  return { directory, provider, config, database: databaseIn(directory), start: Process.start({ directory, config }) }
})

/** The same in a new directory. */
export const setup = (options?: Options) =>
  Effect.flatMap(Process.directory, (directory) => setupIn(directory, options))

export type Running = Effect.Success<ReturnType<typeof Process.start>>

/** A request for a turn as a stream of its events; its prompt is its id by default. */
export const request = (id: string, turnId: string, prompt: unknown = turnId) => ({
  path: `/v1/conversations/${id}/turns`,
  headers: { accept: "application/x-ndjson" },
  body: { prompt, turnId }
})

/** A request for a turn that is submitted and left (rule X15). */
export const submission = (id: string, turnId: string, prompt = turnId) => ({
  ...request(id, turnId, prompt),
  headers: { prefer: "respond-async" }
})

/** The events of a turn from its first to its last; requested with the same id, so it is the same turn. */
export const turn = (service: Running, id: string, turnId: string) =>
  Effect.map(service.call(request(id, turnId)), ({ status, text }) => {
    assert.strictEqual(status, 200)
    return Service.eventsOf(text)
  })

export const endOf = (events: ReturnType<typeof Service.eventsOf>) => {
  const end = events.at(-1)
  return end?.type === "turn-end" ? end : assert.fail("the turn has not ended")
}
