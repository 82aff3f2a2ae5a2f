import { assert, describe, it } from "vitest"
import { UnsupportedFunctionalityError } from "@ai-sdk/provider"
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider"
import { holdfast, tool, toolContent } from "holdfast"
import * as Files from "../src/internal/Files.ts"
import { model } from "../src/index.ts"

const png = { type: "file", mediaType: "image/png", data: "iVBORw0KGgo=", name: "a.png" } as const
const pdf = { type: "file", mediaType: "application/pdf", data: "JVBERi0x", name: "b.pdf" } as const
const link = { type: "file", mediaType: "image/*", url: "https://a.example/b.png" } as const

/** A model of one version that calls a tool and then answers; `calls` has its prompts. */
const scripted = (specificationVersion: Files.Version) => {
  const calls: Array<LanguageModelV4CallOptions["prompt"]> = []
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }
  const doStream = async ({ prompt }: LanguageModelV4CallOptions) => {
    const parts =
      calls.push(prompt) === 1
        ? [
            { type: "tool-call", toolCallId: "c", toolName: "look", input: "{}" },
            { type: "finish", finishReason: "tool-calls", usage }
          ]
        : [
            { type: "text-delta", id: "1", delta: "Done" },
            { type: "finish", finishReason: "stop", usage }
          ]
    return { stream: ReadableStream.from<unknown>(parts) }
  }
  return { calls, model: { specificationVersion, provider: "p", modelId: "m", supportedUrls: {}, doStream } as never }
}

describe("files of a turn", () => {
  it.each([
    [
      "v4",
      [
        { type: "file", mediaType: "image/png", filename: "a.png", data: { type: "data", data: png.data } },
        { type: "file", mediaType: "image/*", data: { type: "url", url: new URL(link.url) } }
      ],
      [
        { type: "text", text: "Here" },
        { type: "file", mediaType: "image/png", filename: "a.png", data: { type: "data", data: png.data } },
        { type: "file", mediaType: "application/pdf", filename: "b.pdf", data: { type: "data", data: pdf.data } },
        { type: "file", mediaType: "image/*", data: { type: "url", url: new URL(link.url) } }
      ]
    ],
    [
      "v3",
      [
        { type: "file", mediaType: "image/png", filename: "a.png", data: png.data },
        { type: "file", mediaType: "image/*", data: new URL(link.url) }
      ],
      [
        { type: "text", text: "Here" },
        { type: "image-data", mediaType: "image/png", data: png.data },
        { type: "file-data", mediaType: "application/pdf", filename: "b.pdf", data: pdf.data },
        { type: "image-url", url: link.url }
      ]
    ],
    [
      "v2",
      [
        { type: "file", mediaType: "image/png", filename: "a.png", data: png.data },
        { type: "file", mediaType: "image/*", data: new URL(link.url) }
      ],
      [
        { type: "text", text: "Here" },
        { type: "media", mediaType: "image/png", data: png.data },
        { type: "media", mediaType: "application/pdf", data: pdf.data },
        { type: "text", text: link.url }
      ]
    ]
  ] as const)("reach a model of version %s in its own form, in their order", async (version, files, result) => {
    const { calls, model: languageModel } = scripted(version)
    const tools = { look: tool({ execute: () => toolContent("Here", png, pdf, link) }) }
    const hf = holdfast({ model: model(languageModel), tools, retry: { enabled: false } })
    const { status } = await hf.turn([{ type: "text", text: "Compare" }, png, link]).result
    assert.strictEqual(status, "completed")
    assert.deepStrictEqual(calls[0], [
      { role: "user", content: [{ type: "text", text: "Compare" }, ...files] }
    ] as never)
    assert.deepStrictEqual(calls[1]?.at(-1)?.content, [
      { type: "tool-result", toolCallId: "c", toolName: "look", output: { type: "content", value: result } }
    ] as never)
  })

  it("that a model does not take fail the turn at once, and are not tried again", async () => {
    let calls = 0
    const languageModel = {
      specificationVersion: "v4",
      provider: "p",
      modelId: "m",
      supportedUrls: {},
      doStream: async () => {
        calls++
        throw new UnsupportedFunctionalityError({ functionality: "file part media type video/mp4" })
      }
    } as never
    const hf = holdfast({ model: model(languageModel), retry: "overnight" })
    const result = await hf.turn([{ ...png, mediaType: "video/mp4" }]).result
    if (result.status !== "failed") throw new Error(`It is ${result.status}.`)
    const { error } = result
    assert.strictEqual(error?.reason, "bad-request")
    assert.include(error?.message, "p/m cannot take a part of the request: 'file part media type video/mp4'")
    assert.strictEqual(calls, 1)
  })
})

describe("files of a model", () => {
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }
  const drawing = (specificationVersion: Files.Version, data: unknown) => {
    const prompts: Array<LanguageModelV4CallOptions["prompt"]> = []
    const doStream = async ({ prompt }: LanguageModelV4CallOptions) => {
      prompts.push(prompt)
      const providerMetadata = { google: { thoughtSignature: "s" } }
      return {
        stream: ReadableStream.from<unknown>([
          { type: "file", mediaType: "image/PNG", data, providerMetadata },
          { type: "finish", finishReason: "stop", usage }
        ])
      }
    }
    return {
      prompts,
      model: { specificationVersion, provider: "p", modelId: "m", supportedUrls: {}, doStream } as never
    }
  }

  it.each([
    ["v4", { type: "data", data: png.data }, { data: png.data }],
    ["v4", { type: "url", url: new URL(link.url) }, { url: link.url }],
    ["v3", new Uint8Array(Buffer.from(png.data, "base64")), { data: png.data }],
    ["v2", png.data, { data: png.data }]
  ] as const)(
    "of version %s are in the message, and go back with what came with them",
    async (version, data, expected) => {
      const { model: languageModel, prompts } = drawing(version, data)
      const hf = holdfast({ model: model(languageModel) })
      const events = []
      for await (const event of hf.turn("Draw", { conversation: "c" })) events.push(event)
      const file = { type: "file", mediaType: "image/png", ...expected, proof: '{"google":{"thoughtSignature":"s"}}' }
      assert.deepStrictEqual<unknown>(
        events.flatMap((event) => (event.type === "file" ? [event.file] : [])),
        [file]
      )
      await hf.turn("Bluer", { conversation: "c" }).result
      const back = prompts[1]?.find(({ role }) => role === "assistant")?.content
      assert.deepInclude(JSON.parse(JSON.stringify(back?.[0])), {
        type: "file",
        mediaType: "image/png",
        providerOptions: { google: { thoughtSignature: "s" } }
      })
    }
  )

  it("of many bytes are the same bytes", () => {
    const bytes = Uint8Array.from({ length: 100_001 }, (_, n) => n % 251)
    const [file] = Files.ofResponse({ mediaType: "image/png", data: bytes })
    assert.isTrue(file !== undefined && "data" in file && file.data === Buffer.from(bytes).toString("base64"))
  })
})
