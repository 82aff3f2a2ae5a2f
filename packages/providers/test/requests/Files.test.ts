import { assert, describe, it } from "@effect/vitest"
import type { Provider } from "@holdfast/kernel"
import { FilePart, Message, Prompt } from "@holdfast/wire"
import { Effect, Schema, Stream } from "effect"
import * as Anthropic from "../../src/Anthropic.ts"
import * as AnthropicRequest from "../../src/anthropic/Request.ts"
import { Http } from "../../src/http/Http.ts"
import * as OpenAiRequest from "../../src/openai/Request.ts"
import * as Files from "../../src/requests/Files.ts"
import { asking, assistant, call, own, prompt, tool } from "../harness/History.ts"

const base64 = (text: string): string => Buffer.from(text).toString("base64")

const png = { type: "file", mediaType: "image/png", data: "iVBORw0KGgo=", name: "chart.png" } as const
const link = { type: "file", mediaType: "image/*", url: "https://a.example/b.png" } as const
const pdf = { type: "file", mediaType: "application/pdf", data: "JVBERi0x", name: "report.pdf" } as const
const notes = { type: "file", mediaType: "text/markdown", data: base64("# Größe"), name: "notes.md" } as const
const wav = { type: "file", mediaType: "audio/wav", data: "UklGRg==" } as const
const text = (text: string) => ({ type: "text", text }) as const

const openAi = (request: Provider.ProviderRequest, options: OpenAiRequest.Options = {}) =>
  OpenAiRequest.make(request, options).messages
const anthropic = (request: Provider.ProviderRequest, options: AnthropicRequest.Options = {}) =>
  AnthropicRequest.make(request, { promptCaching: false, ...options }).messages

describe("files in a prompt", () => {
  it("are parts of a chat completion, in their order", () => {
    assert.deepStrictEqual(openAi(asking([prompt(text("Compare"), png, link, pdf, notes, wav, text("Be brief"))])), [
      {
        role: "user",
        content: [
          { type: "text", text: "Compare" },
          { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
          { type: "image_url", image_url: { url: "https://a.example/b.png" } },
          { type: "file", file: { filename: "report.pdf", file_data: "data:application/pdf;base64,JVBERi0x" } },
          { type: "text", text: '<file name="notes.md">\n# Größe\n</file>' },
          { type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } },
          { type: "text", text: "Be brief" }
        ]
      }
    ])
  })

  it("are content blocks of the Messages API, in their order", () => {
    const paper = { type: "file", mediaType: "application/pdf", url: "https://a.example/p.pdf" } as const
    assert.deepStrictEqual(anthropic(asking([prompt(text("Compare"), png, link, pdf, paper, notes, text(""))])), [
      {
        role: "user",
        content: [
          { type: "text", text: "Compare" },
          { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } },
          { type: "image", source: { type: "url", url: "https://a.example/b.png" } },
          {
            type: "document",
            source: { type: "base64", media_type: "application/pdf", data: "JVBERi0x" },
            title: "report.pdf"
          },
          { type: "document", source: { type: "url", url: "https://a.example/p.pdf" } },
          { type: "document", source: { type: "text", media_type: "text/plain", data: "# Größe" }, title: "notes.md" }
        ]
      }
    ])
  })

  it("leave a prompt of text alone a plain string", () => {
    assert.deepStrictEqual(openAi(asking([prompt(text("a"), text("b"))])), [{ role: "user", content: "a\nb" }])
  })
})

describe("files in a tool's result", () => {
  const output = "Here:\n[image image/png 8 bytes chart.png]\nDone"
  const content = [text("Here:"), png, text("Done")] as const
  const request = asking([
    assistant(own, call("a"), call("b")),
    tool({ toolCallId: "a", output, content, isError: false }, { toolCallId: "b", output: "ok", isError: false })
  ])

  it("follow all results of a chat completion in one message, and the result has their placeholders", () => {
    assert.deepStrictEqual((openAi(request) as ReadonlyArray<unknown>).slice(1), [
      { role: "tool", tool_call_id: "a", content: output },
      { role: "tool", tool_call_id: "b", content: "ok" },
      {
        role: "user",
        content: [
          { type: "text", text: "The file of the result of call a (read):" },
          { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } }
        ]
      }
    ])
  })

  it("are blocks of the result for the Messages API", () => {
    assert.deepStrictEqual((anthropic(request) as ReadonlyArray<unknown>).slice(1), [
      {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: "a",
            content: [
              { type: "text", text: "Here:" },
              { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } },
              { type: "text", text: "Done" }
            ]
          },
          { type: "tool_result", tool_use_id: "b", content: "ok" }
        ]
      }
    ])
  })

  it("are placeholders where the format cannot carry them, and the request is sent", () => {
    const video = { ...png, mediaType: "video/mp4" }
    const message = tool({ toolCallId: "a", output: "[video]", content: [video, text("Done")], isError: false })
    const request = asking([assistant(own, call("a")), message])
    assert.isUndefined(Files.refusalOf(request, OpenAiRequest.refuses))
    assert.isUndefined(Files.refusalOf(request, AnthropicRequest.refuses))
    assert.strictEqual((openAi(request) as ReadonlyArray<unknown>).length, 2)
    const sent = JSON.stringify(anthropic(request))
    assert.notInclude(sent, png.data)
    assert.include(sent, "[video video/mp4 8 bytes chart.png] (not shown: this model cannot read it)")
  })
})

describe("files of a model", () => {
  const drawn = { ...png, proof: '{"id":"ig_1"}' }
  const video = { ...png, mediaType: "video/mp4" }

  it("follow its message as a message of the user, in formats that have no place for them", () => {
    const request = asking([assistant(own, text("Here"), drawn, video), prompt(text("Bluer"))])
    const shown = "[video video/mp4 8 bytes chart.png] (not shown: this model cannot read it)"
    const url = `data:image/png;base64,${png.data}`
    assert.deepStrictEqual<unknown>(openAi(request), [
      { role: "assistant", content: "Here" },
      { role: "user", content: [text("You made:"), { type: "image_url", image_url: { url } }, text(shown)] },
      { role: "user", content: "Bluer" }
    ])
    const source = { type: "base64", media_type: "image/png", data: png.data }
    assert.deepStrictEqual<unknown>(anthropic(request), [
      { role: "assistant", content: [text("Here")] },
      {
        role: "user",
        content: [text("You made:"), { type: "image", source }, text(shown), { ...text("Bluer") }]
      }
    ])
  })

  it("follow the results of its calls, and a message of files alone leaves no message", () => {
    const result = tool({ toolCallId: "a", output: "ok", isError: false })
    const roles = (request: Provider.ProviderRequest) =>
      (openAi(request) as ReadonlyArray<{ readonly role: string }>).map(({ role }) => role)
    assert.deepStrictEqual(roles(asking([assistant(own, drawn, call("a")), result, assistant(own, text("Done"))])), [
      "assistant",
      "tool",
      "user",
      "assistant"
    ])
    assert.deepStrictEqual(roles(asking([assistant(own, drawn), prompt(text("Bluer"))])), ["user", "user"])
    // Those of an earlier message are given once.
    const again = asking([assistant(own, drawn), assistant(own, call("a")), result])
    assert.deepStrictEqual(roles(again), ["user", "assistant", "tool"])
  })

  it("never refuse a request", () => {
    const request = asking([assistant(own, video), prompt(text("Bluer"))])
    for (const refuses of [OpenAiRequest.refuses, AnthropicRequest.refuses]) {
      assert.isUndefined(Files.refusalOf(request, refuses))
    }
  })
})

/** Files that both formats carry, in prompts and in results. */
const Carried = FilePart.FileBytes.mapFields(({ data, name, type }) => ({
  type,
  name,
  data,
  mediaType: Schema.Literals(["image/png", "image/jpeg", "application/pdf"])
}))
const Parts = Schema.NonEmptyArray(Schema.Union([Message.TextPart, Carried]))

/** Everything that was put in, in order: texts that are not empty, and the bytes of files. */
const given = (parts: ReadonlyArray<Message.InputPart>): ReadonlyArray<string> =>
  parts.flatMap((part) =>
    part.type === "file" ? ("data" in part ? [part.data] : []) : part.text === "" ? [] : [part.text]
  )

/** The same of an encoded message. */
const found = (content: unknown): ReadonlyArray<string> => {
  if (typeof content === "string") return [content]
  return (content as ReadonlyArray<Block>).flatMap((block): ReadonlyArray<string> => {
    switch (block.type) {
      case "text":
        return [block.text ?? ""]
      case "image_url":
        return [dataOf(block.image_url?.url)]
      case "file":
        return [dataOf(block.file?.file_data)]
      case "image":
      case "document":
        return [block.source?.data ?? ""]
      default:
        return found(block.content)
    }
  })
}
/** The keys of blocks that carry something. */
interface Block {
  readonly type: string
  readonly text?: string
  readonly image_url?: { readonly url: string }
  readonly file?: { readonly file_data: string }
  readonly source?: { readonly data: string }
  readonly content?: unknown
}
const dataOf = (url: string | undefined): string => url?.replace(/^data:[^,]*,/, "") ?? ""
const contents = (messages: unknown) =>
  (messages as ReadonlyArray<{ readonly role: string; readonly content: unknown }>).map(({ content }) => content)

it.prop("nothing of a prompt with files is lost, and its order is kept", { parts: Parts }, ({ parts }) => {
  const whole = [...parts, png] as const
  const request = asking([prompt(...whole)])
  assert.deepStrictEqual(contents(openAi(request)).flatMap(found), given(whole))
  assert.deepStrictEqual(contents(anthropic(request)).flatMap(found), given(whole))
})

it.prop("nothing of a result with files is lost, and its order is kept", { a: Parts, b: Parts }, ({ a, b }) => {
  const results = [[...a, png] as const, [...b, pdf] as const].map((content, i) => ({
    toolCallId: `c${i}`,
    output: Prompt.textOf(content),
    content,
    isError: false
  }))
  const request = asking([assistant(own, call("c0"), call("c1")), tool(...results)])
  const all = results.flatMap(({ content }) => given(content))
  assert.deepStrictEqual(contents(anthropic(request)).slice(1).flatMap(found), all)
  const sent = contents(openAi(request)).slice(1)
  assert.deepStrictEqual(
    sent.slice(0, 2),
    results.map(({ output }) => output)
  )
  const bytes = results.flatMap(({ content }) => given(content.filter(({ type }) => type === "file")))
  assert.deepStrictEqual(
    found(sent[2]).filter((text) => !text.includes(" of the result of call ")),
    bytes
  )
})

describe("a file that cannot be taken", () => {
  const attempt = <R>(
    provider: Effect.Effect<Provider.Provider["Service"], never, R>,
    request: Provider.ProviderRequest
  ) =>
    Effect.flatMap(provider, ({ stream }) => Effect.flip(Stream.runDrain(stream(request)))).pipe(
      Effect.provideService(Http, { endpoint: () => () => Effect.die("it was called") } as never)
    )

  it.effect("fails before the call, for good, with the model, the part and the remedy", () =>
    Effect.gen(function* () {
      const request = asking([prompt(text("Listen"), wav)])
      const { failure } = yield* attempt(Anthropic.make({ baseUrl: "https://a.example" }), request)
      assert.deepStrictEqual(failure, {
        reason: "bad-request",
        code: Files.UNSUPPORTED,
        message:
          "p/m cannot take part 2 of the prompt, [audio audio/wav 4 bytes]: the Messages API takes images, PDFs and text. " +
          "Nothing was sent. Use a model that takes it, or send the file in another form.",
        retryable: false
      })
    })
  )

  it.each([
    ["a video", { ...wav, mediaType: "video/mp4" }, "no part for videos"],
    ["sound of another type", { ...wav, mediaType: "audio/ogg" }, "audio/wav and audio/mpeg"],
    ["a PDF at an address", { type: "file", mediaType: "application/pdf", url: link.url } as const, "send the bytes"]
  ])("is for chat completions %s", (_, part, reason) => {
    const refused = Files.refusalOf(asking([prompt(part)]), OpenAiRequest.refuses)
    assert.include(refused?.message, reason)
  })

  it("is for the Messages API an image of another type", () => {
    const refused = Files.refusalOf(asking([prompt({ ...png, mediaType: "image/tiff" })]), AnthropicRequest.refuses)
    assert.include(refused?.message, "of images it takes image/jpeg, image/png, image/gif, image/webp")
  })
})
