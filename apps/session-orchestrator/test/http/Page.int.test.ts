import { expect } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Process from "../service/Process.ts"
import * as TestServer from "./TestServer.ts"
import * as It from "../It.ts"

/** As browsers accept a page. */
const BROWSER = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" }

/** A folder with a built page, until the test ends. */
const built = Effect.map(Process.directory, (folder) => {
  mkdirSync(join(folder, "assets"))
  writeFileSync(join(folder, "index.html"), "<!doctype html><title>one</title>")
  writeFileSync(join(folder, "assets/page-1a2b.js"), "start()")
  writeFileSync(join(folder, "assets/page-1a2b.css"), "body{}")
  writeFileSync(join(folder, "secret.txt"), "secret")
  return folder
})

It.effect("the root path is the page for browsers, and redirects API clients to the page of the API", function* () {
  const { call } = yield* TestServer.start({ pageFolder: yield* built })
  for (const headers of [{}, { accept: "*/*" }, { accept: "application/json" }]) {
    const answer = yield* call({ path: "/", headers })
    expect([answer.status, answer.headers["location"]]).toEqual([302, "/docs"])
  }
  const { headers, status, text } = yield* call({ path: "/", headers: BROWSER })
  expect([status, text, headers["vary"]]).toEqual([200, "<!doctype html><title>one</title>", "accept, accept-encoding"])
  expect((yield* call({ path: "/", method: "POST", body: {} })).headers["allow"]).toBe("GET, HEAD")
})

It.effect("the page's policy allows scripts, styles and calls of its own origin alone, nothing inline", function* () {
  const { call } = yield* TestServer.start({ pageFolder: yield* built })
  const { headers } = yield* call({ path: "/", headers: BROWSER })
  expect(headers["content-security-policy"]).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
  )
  expect([headers["x-content-type-options"], headers["referrer-policy"]]).toEqual(["nosniff", "no-referrer"])
})

It.effect("the index is revalidated and its files are kept for a year", function* () {
  const folder = yield* built
  const { call } = yield* TestServer.start({ pageFolder: folder })
  const first = yield* call({ path: "/", headers: BROWSER })
  const etag = first.headers["etag"] ?? ""
  expect(first.headers["cache-control"]).toBe("no-cache")
  const again = yield* call({ path: "/", headers: { ...BROWSER, "if-none-match": etag } })
  expect([again.status, again.text]).toEqual([304, ""])

  writeFileSync(join(folder, "index.html"), "<!doctype html><title>two</title>")
  utimesSync(join(folder, "index.html"), 1, 1)
  const changed = yield* call({ path: "/", headers: { ...BROWSER, "if-none-match": etag } })
  expect([changed.status, changed.text]).toEqual([200, "<!doctype html><title>two</title>"])

  yield* call({ path: "/assets/page-1a2b.js" })
  rmSync(join(folder, "assets/page-1a2b.js")) // it was read once and for all
  const script = yield* call({ path: "/assets/page-1a2b.js" })
  expect([script.status, script.text]).toEqual([200, "start()"])
  expect(script.headers["content-type"]).toBe("text/javascript; charset=utf-8")
  expect(script.headers["cache-control"]).toBe("private, max-age=31536000, immutable")
  expect((yield* call({ path: "/assets/page-1a2b.css" })).headers["content-type"]).toBe("text/css; charset=utf-8")
})

It.effect("only files of the page are served", function* () {
  const { call } = yield* TestServer.start({ pageFolder: yield* built })
  const others = "other-1a2b.js ..%2Fsecret.txt ..%2findex.html %2e%2e ..%2Fassets%2Fpage-1a2b.js page-1a2b .js"
  for (const name of others.split(" ")) {
    expect([name, (yield* call({ path: `/assets/${name}` })).status]).toEqual([name, 404])
  }
})

It.effect("without a built page a browser sees that it is being built, and asks again", function* () {
  const folder = yield* built
  rmSync(join(folder, "index.html"))
  const { call } = yield* TestServer.start({ pageFolder: folder })
  const { headers, status, text } = yield* call({ path: "/", headers: BROWSER })
  expect([status, headers["refresh"]]).toEqual([200, "2"])
  expect(text).toContain("is being built")
  expect(text).toContain("/docs")
  mkdirSync(join(folder, "index.html"))
  expect((yield* call({ path: "/", headers: BROWSER })).status).toBe(500)
})

It.effect("a browser exchanges the token for a session, which is no cookie and ends", function* () {
  const token = "a-token-of-the-service"
  const { call } = yield* TestServer.start({ pageFolder: yield* built, token: Redacted.make(token) })
  expect((yield* call({ path: "/", headers: BROWSER })).status).toBe(200)
  expect((yield* call({ path: "/assets/page-1a2b.js" })).status).toBe(200)
  expect((yield* call({ path: "/page/session" })).status).toBe(401)
  const begin = (bearer: string) =>
    call({ path: "/page/session", method: "POST", headers: { authorization: `Bearer ${bearer}` } })
  expect((yield* begin("wrong")).status).toBe(401)

  const [first, second] = [yield* begin(token), yield* begin(token)]
  expect([first.status, first.headers["set-cookie"], first.text === second.text]).toEqual([200, undefined, false])
  const headers = { authorization: `Bearer ${first.text}` }
  expect((yield* call({ path: "/page/session", headers })).status).toBe(204)
  expect((yield* call({ path: "/v1/conversations", headers, body: {} })).status).toBe(201)
  expect((yield* begin(first.text)).status).toBe(401)
  yield* TestClock.adjust("7 days")
  expect((yield* call({ path: "/page/session", headers })).status).toBe(401)
})

It.effect("the page gets the limits of files with its permission", function* () {
  const { call } = yield* TestServer.start({ maxFileBytes: 1_000, maxBodyBytes: 4_000 })
  const { headers } = yield* call({ path: "/page/session" })
  expect([headers["holdfast-max-file-bytes"], headers["holdfast-max-body-bytes"]]).toEqual(["1000", "4000"])
})

It.effect("a service without a token asks for none", function* () {
  const { call } = yield* TestServer.start()
  expect((yield* call({ path: "/page/session" })).status).toBe(204)
  const { status, text } = yield* call({ path: "/page/session", method: "POST" })
  expect([status, text]).toEqual([204, ""])
})
