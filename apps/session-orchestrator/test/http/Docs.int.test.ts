import { expect, it } from "@effect/vitest"
import { Api, Problem } from "@holdfast/wire/api"
import { Effect, Predicate, Redacted } from "effect"
import { OpenApi } from "effect/http-api"
import { gunzipSync } from "node:zlib"
import * as DocsPage from "../../src/http/docs/DocsPage.ts"
import * as TestServer from "./TestServer.ts"
import * as It from "../It.ts"

/** The addresses of the page's scripts, in order. */
const scriptsOf = (page: string): ReadonlyArray<string> =>
  [...page.matchAll(/<script defer src="([^"]+)"><\/script>/g)].map(([, url]) => url ?? "")

It.effect("the page has no inline script; its policy allows scripts and calls of its own origin alone", function* () {
  const { call } = yield* TestServer.start()
  const { headers, text } = yield* call({ path: "/docs" })
  expect(headers["content-type"]).toMatch(/^text\/html/)
  expect(headers["content-security-policy"]).toBe(
    "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
  )
  expect([headers["x-content-type-options"], headers["referrer-policy"]]).toEqual(["nosniff", "no-referrer"])
  expect(headers["cache-control"]).toBe("no-store")
  expect(scriptsOf(text).map((url) => url.split("?", 1)[0])).toEqual([DocsPage.SETTINGS_PATH, DocsPage.SCRIPT_PATH])
  expect(text.match(/<script/g)).toHaveLength(2)
  expect(text).not.toMatch(/https?:\/\//)
  expect(text).not.toMatch(/ on[a-z]+=/)
})

It.effect("a browser caches its scripts for a year, under an address that names their content", function* () {
  const { call } = yield* TestServer.start()
  const urls = scriptsOf((yield* call({ path: "/docs" })).text)
  expect(urls).toHaveLength(2)
  for (const url of urls) {
    const { headers, status, text } = yield* call({ path: url })
    expect([status, headers["content-type"]]).toEqual([200, "text/javascript; charset=utf-8"])
    expect(headers["cache-control"]).toBe("private, max-age=31536000, immutable")
    expect([headers["vary"], headers["content-encoding"]]).toEqual(["accept-encoding", undefined])
    expect(() => new Function(text)).not.toThrow()

    const packed = yield* call({ path: url, headers: { "accept-encoding": "br, gzip" } })
    expect(packed.headers["content-encoding"]).toBe("gzip")
    expect(Number(packed.headers["content-length"])).toBeLessThan(Buffer.byteLength(text) / 3)
    const plain = yield* call({ path: url, headers: { "accept-encoding": "gzip;q=0, br" } })
    expect(plain.headers["content-encoding"]).toBe(undefined)

    // As the page of an older version requests it.
    const other = yield* call({ path: `${url}0` })
    expect([other.status, other.headers["cache-control"]]).toEqual([200, "no-store"])
  }
})

It.effect("the script is Scalar's, read once", function* () {
  const file = yield* Effect.promise(() => DocsPage.script())
  expect(yield* Effect.promise(() => DocsPage.script())).toBe(file)
  expect(gunzipSync(file.gzipped).toString()).toContain("createApiReference")
})

it("a page without an inline script is an error, not an empty page", () => {
  expect(DocsPage.cut("<p><script>a('<b>')</script><script>b</script>")).toBe("a('<b>')")
  expect(() => DocsPage.cut(`<script src="x"></script>`)).toThrow("no inline script")
})

It.effect("the settings start Scalar over the API's document, with a token field and no other host", function* () {
  const script = gunzipSync((yield* Effect.promise(DocsPage.settings)).gzipped).toString()
  const page = openAt("https://holdfast.example", "#tag/turns", script)
  expect(page.visited).toEqual([])
  // Its commands call the address of the page.
  const document = JSON.stringify(OpenApi.fromApi(Api.Api))
  const content = JSON.parse(document.replaceAll("http://127.0.0.1:4747", "https://holdfast.example"))
  const disabled = { telemetry: false, agent: { disabled: true }, mcp: { disabled: true }, persistAuth: false }
  const shown = { withDefaultFonts: false, proxyUrl: "", hideClientButton: true, showDeveloperTools: "never" }
  const configuration = {
    ...disabled,
    ...shown,
    content,
    authentication: { preferredSecurityScheme: "token" },
    defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
    defaultOpenAllTags: true
  }
  expect(page.started).toEqual([["#api", configuration]])
})

It.effect("every problem's type is the address of a section that explains it", function* () {
  const { call } = yield* TestServer.start()
  const script = gunzipSync((yield* Effect.promise(DocsPage.settings)).gzipped).toString()
  const { headers, text } = yield* call({ path: DocsPage.PROBLEMS_PATH })
  expect(headers["content-security-policy"]).toMatch(/^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'/)
  expect(text).not.toMatch(/<script|<link|src=|@import|url\(/)
  const { schemas } = OpenApi.fromApi(Api.Api).components
  for (const [name, { identifier }] of Object.entries(Problem.problems)) {
    const anchor = `problem-${name}`
    expect(JSON.stringify(schemas[identifier])).toContain(`"/docs#${anchor}"`)
    const page = openAt("http://127.0.0.1:4747", `#${anchor}`, script)
    expect([page.visited, page.started]).toEqual([[`${DocsPage.PROBLEMS_PATH}#${anchor}`], []])
    const section = text.match(new RegExp(`<section id="${anchor}">\n<h2>[45]\\d\\d (.+)</h2>\n.+\n<p>(.+)</p>`))
    expect([name, section?.[1]?.length ?? 0, section?.[2]?.length ?? 0]).toEqual([
      name,
      expect.toSatisfy((length: number) => length > 5),
      expect.toSatisfy((length: number) => length > 20)
    ])
  }
})

It.effect("no example of a body is refused as invalid by its call", function* () {
  const { create, open } = yield* TestServer.start()
  const id = yield* create
  let sent = 0
  for (const [path, { post, put }] of Object.entries(OpenApi.fromApi(Api.Api).paths)) {
    for (const [method, operation] of [
      ["POST", post],
      ["PUT", put]
    ] as const) {
      const media: unknown = operation?.requestBody?.content["application/json"]
      const examples = Predicate.hasProperty(media, "examples") ? Object.values(Object(media.examples)) : []
      for (const example of examples) {
        const body = Predicate.hasProperty(example, "value") ? example.value : undefined
        const headers = { accept: "application/x-ndjson" }
        const { status } = yield* open({ method, path: path.replace("{conversationId}", id), headers, body })
        // A conflict with an existing turn, or no turn to repeat, is no invalid body.
        expect([path, body, status]).toEqual([path, body, expect.toBeOneOf([200, 201, 202, 204, 409])])
        sent++
      }
    }
  }
  expect(sent).toBeGreaterThanOrEqual(9)
})

It.effect("a browser, which sends no token by itself, may read all of it; its calls need the token", function* () {
  const { call } = yield* TestServer.start({ token: Redacted.make("a-token-of-the-service") })
  for (const path of DocsPage.paths) {
    expect([path, (yield* call({ path })).status]).toEqual([path, 200])
  }
  expect((yield* call({ path: "/openapi.json" })).status).toBe(401)
  expect((yield* call({ path: "/v1/conversations", body: {} })).status).toBe(401)
})

/** Runs the settings like a browser that opens the page at an anchor. */
const openAt = (origin: string, hash: string, script: string) => {
  const started: Array<ReadonlyArray<unknown>> = []
  const visited: Array<string> = []
  const listeners: Record<string, () => void> = {}
  const run = new Function("location", "addEventListener", "Scalar", "window", script)
  run(
    { origin, hash, replace: (url: string) => visited.push(url) },
    (name: string, listener: () => void) => void (listeners[name] = listener),
    { createApiReference: (...call: ReadonlyArray<unknown>) => started.push(call) },
    {}
  )
  listeners["DOMContentLoaded"]?.()
  return { started, visited }
}
