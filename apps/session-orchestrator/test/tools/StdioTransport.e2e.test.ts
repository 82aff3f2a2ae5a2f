import { NodeChildProcessSpawner, NodeFileSystem, NodePath } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Layer, Redacted } from "effect"
import * as Secrets from "../../src/redaction/Secrets.ts"
import * as StdioTransport from "../../src/tools/StdioTransport.ts"
import * as Given from "./Given.ts"

const spawner = NodeChildProcessSpawner.layer.pipe(Layer.provide([NodeFileSystem.layer, NodePath.layer]))

const NOBODY: StdioTransport.Children = { add: () => undefined, delete: () => undefined }

describe("a tool server's last output", () => {
  it.live("ToolServers.V2: is cut after its secrets were redacted, so that no half of a secret is left", () =>
    Effect.gen(function* () {
      const secret = "0123456789-abcdefghij"
      const reach = Given.unruly(["blabs"], { TOKEN: secret })
      if (reach.type !== "stdio") return assert.fail("it is no process")
      const conceal = Secrets.conceal([Redacted.make(secret)])
      const { lost } = yield* StdioTransport.make(reach, NOBODY, conceal)
      const why = yield* Effect.timeout(Deferred.await(lost), "90 seconds")
      assert.include(why, "exit code 3")
      assert.include(why, "xxxx")
      assert.notInclude(why, secret.slice(-5))
    }).pipe(Effect.scoped, Effect.provide(spawner))
  )
})
