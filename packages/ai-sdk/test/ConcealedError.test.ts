/** Errors of models without the secrets that endpoints quote, classified as before. */
import { APICallError } from "@ai-sdk/provider"
import { Classification } from "@holdfast/policy"
import { assert, describe, it } from "vitest"
import { concealed } from "../src/AiSdkModel.ts"

const KEY = "sk-of-the-night"
const conceal = (text: string) => text.replaceAll(KEY, "[redacted]")

const everything = (error: unknown): string =>
  error instanceof Error
    ? `${error.name} ${error.message} ${JSON.stringify(error)} ${everything(error.cause)}`
    : String(JSON.stringify(error))

const call = (more: object) =>
  new APICallError({
    message: `Wrong key ${KEY}`,
    url: `https://p.example/v1?key=${KEY}`,
    requestBodyValues: { secret: KEY },
    ...more
  })

describe("an error of a model", () => {
  const circular: { self?: unknown } = {}
  circular.self = circular
  const errors: ReadonlyArray<readonly [what: string, error: unknown]> = [
    [
      "a refusal",
      call({ statusCode: 401, responseBody: `{"error":{"message":"bad ${KEY}"}}`, responseHeaders: { "x-echo": KEY } })
    ],
    [
      "an overload",
      call({ statusCode: 529, responseBody: `{"type":"error","error":{"type":"overloaded_error","message":"${KEY}"}}` })
    ],
    ["a broken connection", call({ cause: Object.assign(new Error(`to ${KEY}`), { code: "ECONNRESET" }) })],
    ["an error part", { type: "server_error", message: `down, ${KEY}` }],
    ["a text", `overloaded ${KEY}`],
    ["a bug", new TypeError(`x is not a function ${KEY}`)]
  ]

  it.each(errors)("loses its secrets, and keeps its meaning: %s", (_what, error) => {
    const copy = concealed(error, conceal)
    assert.notInclude(everything(copy), KEY)
    const [{ message: _, ...meaning }, { message, ...before }] = [copy, error].map((each) =>
      Classification.ofThrown(each, 0)
    ) as [ReturnType<typeof Classification.ofThrown>, ReturnType<typeof Classification.ofThrown>]
    assert.deepStrictEqual(JSON.parse(conceal(JSON.stringify(meaning))), JSON.parse(conceal(JSON.stringify(before))))
    assert.strictEqual(Classification.ofThrown(copy, 0).message, conceal(message))
  })

  it("that is no JSON is an error without its text", () => {
    assert.strictEqual(String(concealed(circular, conceal)), "Error: An error that is no JSON")
    assert.strictEqual(concealed(undefined, conceal), undefined)
  })
})
