/** Runs the examples of docs/rpc.md, and checks its lines against the JSON Schema beside it. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import { LineSplitter, RpcLines } from "@holdfast/wire/rpc"
import { Ajv } from "ajv"
import { Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import { readFileSync } from "node:fs"
import * as Backlog from "../../src/engine/session/Backlog.ts"
import * as RpcSession from "../../src/rpc/RpcSession.ts"
import { waits } from "../engine/conversation/ConversationSetup.ts"
import { withSession } from "./GivenSession.ts"

const docs = new URL("../../../../docs/", import.meta.url)
const page = readFileSync(new URL("rpc.md", docs), "utf8")
const schema = JSON.parse(readFileSync(new URL("rpc.schema.json", docs), "utf8"))

const ajv = new Ajv({ strict: false, validateFormats: false })
const validates = (definition: "command" | "output") =>
  ajv.compile({ ...schema, anyOf: undefined, $ref: `#/definitions/${definition}` })

/** The lines of all examples: `>` is read by the program, `<` is written by it. */
const examples = Array.from(page.matchAll(/^([<>]) (\{.*\})$/gm), ([, way, line = ""]) => ({ way, line }))

const { answer, emits, overloaded } = ScriptedProvider

describe("docs/rpc.md", () => {
  it("rule P16: has lines of the schema alone", () => {
    const isCommand = validates("command")
    const isOutput = validates("output")
    assert.isNotEmpty(examples)
    for (const { line, way } of examples) {
      assert.isTrue((way === ">" ? isCommand : isOutput)(JSON.parse(line)), line)
      assert.isFalse((way === ">" ? isOutput : isCommand)(JSON.parse(line)), line)
    }
    assert.isFalse(isCommand({ type: "set_auto_retry", enable: true }))
    assert.isTrue(isCommand({ id: "a", type: "wait_until", until: "2031-04-01T00:00:00Z" }))
  })

  it.effect("rule P16: has a session as it is", () => {
    const lines = (page.split("<!-- rpc -->")[1]?.split("```")[1] ?? "").split("\n")
    const sent = lines.filter((line) => line.startsWith("> ")).map((line) => line.slice(2))
    const expected = lines.filter((line) => line.startsWith("< ")).map((line) => line.slice(2))
    return withSession(
      {
        scripts: [emits({ ...overloaded, message: "Overloaded", status: 529, code: "529" }), answer("Still ", "here.")],
        retry: waits(3_600)
      },
      function* ({ conversationId, lines, responded, sendText, until }) {
        yield* TestClock.setTime(Date.UTC(2031, 3, 1, 22))
        for (const [n, line] of sent.entries()) {
          yield* sendText(`${line}\n`)
          yield* responded(n + 1)
          yield* n === 0 ? until("provider-retry") : Effect.void
        }
        yield* until("turn-end")
        const turnId = /"turnId":"([^"]+)"/.exec(lines().join())?.[1] ?? ""
        const seen = lines().map((line) => line.replaceAll(conversationId, "c1").replaceAll(turnId, "t1"))
        assert.deepStrictEqual(seen, expected, seen.map((line) => `< ${line}`).join("\n"))
      }
    )
  })

  it("rule P16: has the program of the example as it is", () => {
    const example = readFileSync(new URL("../examples/src/18-rpc.ts", docs), "utf8")
    const [, region = ""] = example.split(/\/\/ #(?:end)?region rpc\n?/)
    assert.isNotEmpty(region)
    assert.include(page, "<!-- examples/src/18-rpc.ts#rpc -->\n\n```ts\n" + region.trimEnd() + "\n```")
  })

  it("rule P16: names every command, and the limits in force", () => {
    const text = page.replaceAll(/\s+/g, " ")
    for (const type of Object.keys(RpcLines.commands)) assert.include(text, `| \`${type}\` |`)
    assert.include(text, `at most ${LineSplitter.MOST_COMMAND_BYTES / 1024 / 1024} MiB.`)
    assert.include(text, `are answered, for ${Duration.toSeconds(RpcSession.LAST_ANSWERS)} s at most`)
    assert.include(text, `at most ${Backlog.MAX_BEHIND / 1024 / 1024} MiB of events`)
  })
})
