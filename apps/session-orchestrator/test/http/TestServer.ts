/** Runs the HTTP server on a free port, over fake conversations. */
import { Timer } from "@holdfast/journal"
import { Context, Effect, Layer } from "effect"
import { HttpServer as EffectHttpServer } from "effect/http"
import * as Condition from "../../src/base/system/Condition.ts"
import * as Drain from "../../src/base/system/Drain.ts"
import { Config } from "../../src/config/Config.ts"
import * as HttpServer from "../../src/http/HttpServer.ts"
import * as Configurations from "../config/Configurations.ts"
import * as FakeConversations from "./FakeConversations.ts"
import * as Socket from "./Socket.ts"

/** The server, with the defaults of its settings. */
export const layer = (options: Partial<HttpServer.Options>) => {
  const config = Configurations.config()
  const server = { ...config.server, ...options }
  return HttpServer.served(server).pipe(
    Layer.provideMerge(HttpServer.bound(server)),
    Layer.provide([Layer.succeed(Config, { ...config, server }), Timer.layer])
  )
}

export const start = Effect.fnUntraced(function* (options: Partial<HttpServer.Options> = {}) {
  const conversations = FakeConversations.make()
  const context = yield* Layer.build(layer({ port: 0, ...options }).pipe(Layer.provide(conversations.layer)))
  const { address } = Context.get(context, EffectHttpServer.HttpServer)
  if (address._tag === "UnixPathAddress") return yield* Effect.die("bound to a path")
  const { port } = address
  const create = Effect.map(
    Socket.call(port, { path: "/v1/conversations", body: {} }),
    ({ text }): string => JSON.parse(text).conversationId
  )
  return {
    port,
    conversations,
    condition: Context.get(context, Condition.Condition),
    drain: Context.get(context, Drain.Drain),
    create,
    call: (request: Socket.Request) => Socket.call(port, request),
    open: (request: Socket.Request) => Socket.open(port, request)
  }
})
