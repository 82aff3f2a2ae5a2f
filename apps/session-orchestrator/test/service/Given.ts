/** What tests of the service as a process are given: a provider's answers, a configuration, a stage for both, and turns. */
import { assert } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Effect } from "effect"
import * as path from "node:path"
import * as Process from "./Process.ts"
import * as Service from "./Service.ts"

const { ErrorBody, answerFrames } = ScriptedServer

export const overloaded = { status: 529, body: ErrorBody.envelope("overloaded", "anthropic") }

export const answer = (text: string) => ({ frames: answerFrames("openai", text) })

/** An answer that stops behind so many of its frames until its gate is open; the first is a preamble, each other one a word. */
export const gated = (text: string, behind: number) => {
  const gate = ScriptedServer.gate()
  const frames = answerFrames("openai", text)
  return { gate, response: { frames: [...frames.slice(0, behind), gate, ...frames.slice(behind)] } }
}

/** Answers turns by their prompts, each with its own responses one by one. Gives the prompts that have called so far, in order. */
export const script = (
  provider: Pick<ScriptedServer.ScriptedServer, "fallback">,
  responses: Readonly<Record<string, ReadonlyArray<ScriptedServer.ScriptedResponse>>>
): ReadonlyArray<string> => {
  const calls: Array<string> = []
  provider.fallback(({ body }) => {
    const prompt = Object.keys(responses).find((prompt) => body.includes(prompt)) ?? ""
    const nth = calls.filter((call) => call === prompt).length
    calls.push(prompt)
    // As the provider has it: a call too many ends a turn instead of prolonging it.
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
  /** What else is to be said of retries. */
  readonly retry?: object
  /** Without gates a turn that is to sleep sleeps, and calls for itself, whatever others meet. */
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

/** A provider, and process after process over one file in a directory. */
export const stageIn = Effect.fnUntraced(function* (directory: string, options?: Options) {
  const provider = yield* ScriptedServer.start()
  const config = configOf(provider, options)
  return { directory, provider, config, database: databaseIn(directory), start: Process.start({ directory, config }) }
})

/** The same in a directory of its own. */
export const stage = (options?: Options) =>
  Effect.flatMap(Process.directory, (directory) => stageIn(directory, options))

export type Running = Effect.Success<ReturnType<typeof Process.start>>

/** A turn handed in as a stream of its events; its prompt is its id, where nothing else is said. */
export const request = (id: string, turnId: string, prompt = turnId) => ({
  path: `/v1/conversations/${id}/turns`,
  headers: { accept: "application/x-ndjson" },
  body: { prompt, turnId }
})

/** A turn that is handed in and left (X15). */
export const submission = (id: string, turnId: string, prompt = turnId) => ({
  ...request(id, turnId, prompt),
  headers: { prefer: "respond-async" }
})

/** The events of a turn from its first to its last; asks with the same id, so it is the same turn. */
export const turn = (service: Running, id: string, turnId: string) =>
  Effect.map(service.call(request(id, turnId)), ({ status, text }) => {
    assert.strictEqual(status, 200)
    return Service.eventsOf(text)
  })

export const endOf = (events: ReturnType<typeof Service.eventsOf>) => {
  const end = events.at(-1)
  return end?.type === "turn-end" ? end : assert.fail("the turn has not ended")
}
