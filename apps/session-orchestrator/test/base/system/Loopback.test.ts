import { expect, it } from "@effect/vitest"
import * as Loopback from "../../../src/base/system/Loopback.ts"

it("loopback is this machine alone", () => {
  for (const host of ["localhost", "Localhost", "127.0.0.1", "127.8.9.10", "::1", "[::1]", "::ffff:127.0.0.1"]) {
    expect([host, Loopback.isLoopback(host)]).toEqual([host, true])
  }
})

it("everything else may be reached by others", () => {
  for (const host of ["", ..."0.0.0.0 :: 10.0.0.1 128.0.0.1 127.0.0.1.example localhost.example 127.1 1".split(" ")]) {
    expect([host, Loopback.isLoopback(host)]).toEqual([host, false])
  }
})

it("the host of an authority comes without its port", () => {
  expect(Loopback.hostOf("localhost")).toBe("localhost")
  expect(Loopback.hostOf("localhost:4747")).toBe("localhost")
  expect(Loopback.hostOf("[::1]:4747")).toBe("[::1]")
  for (const authority of ["", ":80", "a b", "user@host", "host:port", "::1", "a/b"]) {
    expect([authority, Loopback.hostOf(authority)]).toEqual([authority, undefined])
  }
})
