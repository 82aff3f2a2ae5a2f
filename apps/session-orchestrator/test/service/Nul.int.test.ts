/** Tests U+0000 in a model's output: a PostgreSQL column cannot contain it. */
import { TemporaryFile } from "@holdfast/journal/testing"
import { describe, expect } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Effect } from "effect"
import { freePort } from "../FreePort.ts"
import * as OneServer from "../storage/OneServer.ts"
import * as Service from "./Service.ts"
import { toolCalls } from "./ToolFrames.ts"
import * as It from "../It.ts"

const server = OneServer.ofFile()

const databases = {
  SQLite: Effect.map(TemporaryFile.temporaryFile, (database): Service.Options => ({ database })),
  PostgreSQL: Effect.gen(function* () {
    const postgres = { url: yield* (yield* server).database, runnerPort: yield* freePort }
    return { postgres } satisfies Service.Options
  })
}

describe.each(["SQLite", "PostgreSQL"] as const)("%s", (database) => {
  It.live("a turn whose model sends U+0000 in text, a tool call and an error ends, and shows all of it", function* () {
    const service = yield* Service.start(yield* databases[database])
    const { provider } = service
    const id = yield* service.create()
    const TEXT = "a\0b \\u0000"
    provider.respond(
      { status: 503, body: JSON.stringify({ error: { message: "No\0w", code: "c\0" } }) },
      { frames: toolCalls({ name: "no\0such", input: { "k\0": "v\0" } }) },
      { frames: ScriptedServer.answerFrames("openai", TEXT) }
    )
    const path = `/v1/conversations/${id}`
    const { text } = yield* service.call({ path: `${path}/turns`, body: { prompt: "Hello" } })
    expect(JSON.parse(text)).toMatchObject({ status: "completed", text: TEXT })
    const history = yield* service.call({ path: `${path}/messages` })
    expect(history.text).toContain(JSON.stringify(TEXT))
    expect(history.text).toContain(String.raw`v\u0000`)
    const { turnId } = JSON.parse(text)
    const explained = yield* service.call({ path: `${path}/turns/${turnId}/explain` })
    expect(explained.status).toBe(200)
    expect(explained.text).toContain(String.raw`No\u0000w`)
    // The next turn continues with that history.
    provider.respond({ frames: ScriptedServer.answerFrames("openai", "Fine.") })
    const next = yield* service.call({ path: `${path}/turns`, body: { prompt: "Well?" } })
    expect(JSON.parse(next.text)).toMatchObject({ status: "completed", text: "Fine." })
  })
})
