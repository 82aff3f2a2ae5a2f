/** Tests the files of an answer, on disk and in words, and how `holdfast wait` counts turns. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Ids, type Message, type TurnState } from "@holdfast/wire"
import { Effect, FileSystem } from "effect"
import * as path from "node:path"
import * as LeftTurns from "../../../src/cli/client/LeftTurns.ts"
import type * as RunningService from "../../../src/cli/client/RunningService.ts"
import * as LocalTime from "../../../src/base/text/LocalTime.ts"
import * as It from "../../It.ts"

const test = It.within(NodeServices.layer)

const conversationId = Ids.ConversationId.make("c")
const turnId = Ids.TurnId.make("poster-1")

const image = { type: "file", mediaType: "image/png", data: Buffer.from("one").toString("base64") } as const
const named = { ...image, data: Buffer.from("two").toString("base64"), name: "..poster.png" }
const link = { type: "file", mediaType: "image/*", url: "https://a.example/b.png" } as const

const said = (id: string, content: Message.AssistantMessage["content"]) => ({ role: "assistant", turnId: id, content })

/** Answers with these messages. */
const serviceOf = (messages: ReadonlyArray<object>) =>
  ({ conversation: () => ({ getMessages: Effect.succeed(messages) }) }) as unknown as RunningService.ServiceClient

describe("holdfast answer --files", () => {
  test("writes the bytes of the last answer of the turn, each under a name of its own", function* () {
    const disk = yield* FileSystem.FileSystem
    const folder = path.join(yield* disk.makeTempDirectoryScoped(), "new", "pictures")
    const client = serviceOf([
      said("poster-1", [image]),
      said("poster-1", [named, { type: "text", text: "Here." }, link, image]),
      said("other", [image])
    ])
    const paths = yield* LeftTurns.writeFiles(client, { conversationId, turnId }, folder)
    const names = ["poster-1-1-..poster.png", "poster-1-2.png"]
    const expected = names.map((name) => path.join(folder, name))
    assert.deepStrictEqual(paths, expected)
    assert.deepStrictEqual((yield* disk.readDirectory(folder)).toSorted(), names)
    const [first = "", second = ""] = paths
    assert.deepStrictEqual([yield* disk.readFileString(first), yield* disk.readFileString(second)], ["two", "one"])
  })

  test("names the folder that cannot be written", function* () {
    const disk = yield* FileSystem.FileSystem
    const folder = path.join(yield* disk.makeTempDirectoryScoped(), "taken")
    yield* disk.writeFileString(folder, "")
    const { message } = yield* Effect.flip(LeftTurns.writeFiles(serviceOf([]), { conversationId, turnId }, folder))
    assert.include(message, `--files: ${folder} cannot be written: `)
  })

  it("a file without bytes is a line with its address, with the flag and without it", () => {
    const files = [
      { mediaType: "image/png", sizeBytes: 3, name: "a.png" },
      { mediaType: "image/*", url: link.url }
    ]
    const address = "image/* at https://a.example/b.png"
    assert.deepStrictEqual(LeftTurns.unwrittenFiles(files, "pictures"), [address])
    const written = "image/png 3 bytes a.png (--files FOLDER writes it)"
    assert.deepStrictEqual(LeftTurns.unwrittenFiles(files, undefined), [written, address])
  })
})

it("`holdfast wait` says in plain English how many turns have not ended", () => {
  assert.deepStrictEqual(
    [LeftTurns.openText(1, 1), LeftTurns.openText(1, 3), LeftTurns.openText(2, 2)],
    ["The turn has not ended.", "1 of 3 turns has not ended.", "2 of 2 turns have not ended."]
  )
})

it("a turn that was left is one line: its status, why, or what it waits for", () => {
  const error = { reason: "overloaded", message: "Overloaded", code: "529" }
  const asks = { because: "request", tokens: 1, limit: 0, waitedMs: 0, message: "Go\non?" }
  const wait = { retryAt: 5_000, attempt: 1 }
  const until = `waiting until ${LocalTime.full(LocalTime.here(), "medium")(5_000)}: 529 Overloaded`
  for (const [now, more, words] of [
    [0, { status: "completed" }, "completed"],
    [0, { status: "failed", error }, "failed: 529 Overloaded"],
    [0, { error, wait: { ...wait, asks } }, "waiting for an answer: Go on?"],
    [Infinity, { error, wait }, until],
    [5_001, { wait }, until.replace(/: 529.*/, "")],
    [4_999, { error, wait, conversationId: "holdfast-call-1" }, until],
    [5_000, { error, wait, conversationId: "holdfast-call-1" }, "waits for its program: 529 Overloaded"]
  ] as const) {
    const state = { conversationId, status: "waiting", ...more } as unknown as TurnState.TurnState
    assert.strictEqual(LeftTurns.inWords(state, now), words)
  }
})
