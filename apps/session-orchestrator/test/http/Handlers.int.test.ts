import { expect, it } from "@effect/vitest"
import { Context, Effect, Layer, References } from "effect"
import { HttpServer as EffectHttpServer } from "effect/http"
import { Conversations } from "../../src/conversation/Conversations.ts"
import * as HttpServer from "../../src/http/HttpServer.ts"
import * as FakeConversations from "./FakeConversations.ts"
import * as Socket from "./Socket.ts"

it.live("Handlers.H1: the context of a request has Effect's settings, and no service of this program", () =>
  Effect.gen(function* () {
    let names: ReadonlyArray<string> = []
    const conversations = Layer.effect(
      Conversations,
      Effect.map(Conversations, (real) => ({
        ...real,
        state: (id: Parameters<typeof real.state>[0]) =>
          Effect.contextWith((context: Context.Context<never>) => {
            names = [...context.mapUnsafe.keys()]
            return real.state(id)
          })
      }))
    ).pipe(Layer.provideMerge(FakeConversations.make().layer))
    const server = HttpServer.layer({ port: 0 }).pipe(
      Layer.provide(conversations),
      Layer.provide(Layer.succeed(References.MinimumLogLevel, "Error"))
    )
    const { address } = Context.get(yield* Layer.build(server), EffectHttpServer.HttpServer)
    if (address._tag === "UnixPathAddress") return yield* Effect.die("bound to a path")
    const { status } = yield* Socket.call(address.port, { path: "/v1/conversations/unknown" })
    expect(status).toBe(404)
    expect(names.filter((name) => name.startsWith("@holdfast/"))).toEqual([])
    expect(names).toContain(References.MinimumLogLevel.key)
  })
)
