import { NodeChildProcessSpawner, NodeFileSystem, NodePath } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Layer, Redacted } from "effect"
import * as StdioTransport from "../../src/transport/StdioTransport.ts"
import * as TestToolServers from "../../testing/index.ts"

const spawner = NodeChildProcessSpawner.layer.pipe(Layer.provide([NodeFileSystem.layer, NodePath.layer]))

const NOBODY: StdioTransport.Children = { add: () => undefined, delete: () => undefined }

describe("a tool server's last output", () => {
  it.live("is cut after its secrets were redacted, so that no half of a secret is left", () =>
    Effect.gen(function* () {
      const secret = "0123456789-abcdefghij"
      const reach = TestToolServers.unruly(["blabs"], { TOKEN: secret })
      if (reach.type !== "stdio") return assert.fail("it is no process")
      const conceal = TestToolServers.concealing([Redacted.make(secret)])
      const { lost } = yield* StdioTransport.make(reach, NOBODY, conceal)
      const why = yield* Effect.timeout(Deferred.await(lost), "90 seconds")
      assert.include(why, "exit code 3")
      assert.include(why, "xxxx")
      assert.notInclude(why, secret.slice(-5))
    }).pipe(Effect.scoped, Effect.provide(spawner))
  )
})
