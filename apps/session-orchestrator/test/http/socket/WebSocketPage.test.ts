/** Checks the messages of docs/websocket.md against the JSON Schema beside it, and its figures against those in force. */
import { assert, describe, it } from "@effect/vitest"
import { SocketMessages } from "@holdfast/wire/rpc"
import { Ajv } from "ajv"
import { Duration } from "effect"
import { readFileSync } from "node:fs"
import { STALL_LIMIT } from "../../../src/rpc/Outlet.ts"
import { SILENCE_LIMIT } from "../../../src/http/socket/SocketSession.ts"
import { MOST_SUBSCRIPTIONS } from "../../../src/http/socket/Subscriptions.ts"
import { LAST_ANSWERS, MOST_WAITING } from "../../../src/rpc/RpcSession.ts"
import { MAX_BEHIND } from "../../../src/engine/session/Backlog.ts"

const docs = new URL("../../../../../docs/", import.meta.url)
const page = readFileSync(new URL("websocket.md", docs), "utf8")
const schema = JSON.parse(readFileSync(new URL("websocket.schema.json", docs), "utf8"))

const ajv = new Ajv({ strict: false, validateFormats: false })
const validates = (definition: "command" | "output") =>
  ajv.compile({ ...schema, anyOf: undefined, $ref: `#/definitions/${definition}` })

describe("docs/websocket.md", () => {
  it("has messages of the schema alone", () => {
    const examples = Array.from(page.matchAll(/^([<>]) (\{.*\})$/gm), ([, way, text = ""]) => ({ way, text }))
    const isCommand = validates("command")
    const isOutput = validates("output")
    assert.isAbove(examples.length, 5)
    for (const { text, way } of examples) {
      assert.isTrue((way === ">" ? isCommand : isOutput)(JSON.parse(text)), text)
      assert.isFalse((way === ">" ? isOutput : isCommand)(JSON.parse(text)), text)
    }
    assert.isFalse(isCommand({ type: "abort", conversationId: "c", force: true }))
  })

  it("names every command with its keys, and the limits in force", () => {
    // Commands that lines have too are in the page of lines.
    const rows = [page, readFileSync(new URL("rpc.md", docs), "utf8")].join("\n").split("\n")
    for (const [type, { fields }] of Object.entries(SocketMessages.commands)) {
      const row = rows.find((line) => line.startsWith(`| \`${type}\` |`)) ?? assert.fail(`no row of ${type}`)
      const keys = Object.keys(fields).filter((key) => !["id", "type", "conversationId"].includes(key))
      for (const key of type === "create" ? [] : keys) assert.include(row, `\`${key}\``, type)
    }
    const text = page.replaceAll(/\s+/g, " ")
    for (const part of [
      `\`${SocketMessages.SUBPROTOCOL}\``,
      `\`${SocketMessages.TOKEN_PREFIX}\``,
      `every ${SocketMessages.KEEP_ALIVE_MS / 1_000} s;`,
      `While ${MOST_WAITING} commands wait`,
      `has ${MOST_SUBSCRIPTIONS.toLocaleString("en")} subscriptions at most`,
      `keep ${MAX_BEHIND / 1024 / 1024} MiB of`,
      `have ${Duration.toSeconds(LAST_ANSWERS)} s to take effect`
    ]) {
      assert.include(text, part)
    }
    assert.deepStrictEqual([STALL_LIMIT, SILENCE_LIMIT].map(Duration.toSeconds), [60, 60], "a minute")
  })
})
