/** Tests the program behind a proxy, with a company's certificate. */
import { assert, describe } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Effect } from "effect"
import * as Process from "./Process.ts"
import * as ProxyServer from "./ProxyServer.ts"
import * as It from "../It.ts"

describe("a process", () => {
  It.live("reaches its provider through HTTPS_PROXY, and trusts NODE_EXTRA_CA_CERTS", function* () {
    const directory = yield* Process.directory
    const provider = yield* ScriptedServer.start()
    provider.fallback({ frames: ScriptedServer.answerFrames("openai", "Good morning.") })
    const proxy = yield* ProxyServer.start({
      hosts: { "provider.test": yield* ProxyServer.startTls(provider.port) },
      credentials: "night:s3cret-of-the-proxy"
    })
    const file = Process.writeConfig(directory, {
      providers: { own: { type: "openai-compatible", baseUrl: "https://provider.test/v1" } },
      model: "own/m",
      retry: { enabled: false }
    })
    const run = (env: Readonly<Record<string, string>>) =>
      Effect.flatMap(Process.run({ args: ["run", "Hello", "--config", file], directory, env }), ({ exit }) => exit)
    const HTTPS_PROXY = `http://night:s3cret-of-the-proxy@127.0.0.1:${proxy.port}`

    const answered = yield* run({ HTTPS_PROXY, NODE_EXTRA_CA_CERTS: ProxyServer.CERTIFICATE_FILE })
    assert.include(answered.stdout, "Good morning.")
    assert.strictEqual(answered.code, 0, answered.stderr)
    const distrusted = yield* run({ HTTPS_PROXY })
    assert.strictEqual(distrusted.code, 1)
    assert.match(distrusted.stderr, /self-signed certificate/)
    assert.deepStrictEqual([proxy.tunnels(), provider.count()], [["provider.test:443", "provider.test:443"], 1])
    assert.notInclude(answered.stderr + distrusted.stderr + distrusted.stdout, "s3cret")
  })
})
