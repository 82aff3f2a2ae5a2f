import { assert, it } from "@effect/vitest"
import type { Provider } from "@holdfast/kernel"
import { Effect, Stream } from "effect"
import * as ModelFiles from "../src/ModelFiles.ts"
import { asking, assistant, call, own, prompt, tool } from "./harness/History.ts"

const png = { type: "file", mediaType: "image/png", data: "iVBORw0KGgo=" } as const
const pdf = { type: "file", mediaType: "application/pdf", data: "JVBERi0x" } as const

/** A provider that keeps its requests, under models that take PDFs alone, or no file. */
const scripted = (accepted: ReadonlyArray<string> | undefined) => {
  const requests: Array<Provider.ProviderRequest> = []
  const stream = (request: Provider.ProviderRequest) => {
    requests.push(request)
    return Stream.empty
  }
  return { requests, ...ModelFiles.limited({ stream }, () => accepted) }
}

it.effect("a prompt with a file that its model does not take fails before the call, for good", () =>
  Effect.gen(function* () {
    const { requests, stream } = scripted(["application/pdf"])
    const { failure } = yield* Effect.flip(Stream.runDrain(stream(asking([prompt(pdf, png)]))))
    assert.deepStrictEqual([failure.reason, failure.retryable], ["bad-request", false])
    assert.include(
      failure.message,
      "p/m cannot take part 2 of the prompt, [image image/png 8 bytes]: of files this model takes application/pdf. Nothing was sent."
    )
    const none = scripted([])
    const refused = yield* Effect.flip(Stream.runDrain(none.stream(asking([prompt(pdf)]))))
    assert.include(refused.failure.message, "this model takes no files")
    assert.deepStrictEqual([...requests, ...none.requests], [])
  })
)

it.effect("files of a result that its model does not take are placeholders, the others are sent", () =>
  Effect.gen(function* () {
    const results = [
      { toolCallId: "a", output: "[pdf]\n[png]", content: [pdf, png] as const, isError: false },
      { toolCallId: "b", output: "[png]", content: [png] as const, isError: false },
      { toolCallId: "c", output: "ok", isError: false }
    ]
    const request = asking([prompt(pdf), assistant(own, call("a"), call("b"), call("c")), tool(...results)])
    const { requests, stream } = scripted(["application/pdf"])
    yield* Stream.runDrain(stream(request))
    const sent = requests[0]?.messages ?? []
    // Messages without files are the same objects: their sizes are remembered by them.
    for (const at of [0, 1]) assert.strictEqual(sent[at], request.messages[at])
    const content = sent[2]?.role === "tool" ? sent[2].content : []
    const refused = { type: "text", text: "[image image/png 8 bytes] (not shown: this model cannot read it)" }
    assert.deepStrictEqual<unknown>(
      content.map(({ content, output }) => [output, content]),
      [
        ["[pdf]\n[png]", [pdf, refused]],
        ["[png]", undefined],
        ["ok", undefined]
      ]
    )
  })
)

it.effect("without a limit the request is sent as it is", () =>
  Effect.gen(function* () {
    const { requests, stream } = scripted(undefined)
    const request = asking([prompt(png)])
    yield* Stream.runDrain(stream(request))
    assert.strictEqual(requests[0], request)
  })
)

it.effect("a file of a model that another model cannot take is a placeholder behind its message", () =>
  Effect.gen(function* () {
    const { requests, stream } = scripted([])
    yield* Stream.runDrain(stream(asking([assistant(own, { type: "text", text: "Here" }, png)])))
    assert.deepStrictEqual<unknown>(
      requests[0]?.messages.map(({ content, role }) => [role, content]),
      [
        ["assistant", [{ type: "text", text: "Here" }]],
        [
          "user",
          [
            { type: "text", text: "You made:" },
            { type: "text", text: "[image image/png 8 bytes] (not shown: this model cannot read it)" }
          ]
        ]
      ]
    )
  })
)
