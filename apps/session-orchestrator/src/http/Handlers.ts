/**
 * Makes the handlers of a group of the API, and the server that calls them.
 *
 * The router copies two contexts for each request: the server's, and the one in which the group was made. With the fifty services of the
 * program in both, that was 4 % of the CPU of a submitted prompt.
 *
 * Handlers.H1. A handler has its services from the making of its group. Its request brings no service of this program.
 */
import { Api } from "@holdfast/wire/api"
import { Context, Effect, Layer, Scope } from "effect"
import { HttpServer } from "effect/http"
import { type HttpApi, HttpApiBuilder, type HttpApiGroup } from "effect/http-api"

type Groups = typeof Api.Api extends HttpApi.HttpApi<string, infer Groups> ? Groups : never

/** The services that the making of a group requires; an error for handlers that require services of their requests (Handlers.H1). */
type ServicesOf<Made> =
  Made extends Effect.Effect<
    HttpApiBuilder.Handlers<infer R, infer _Endpoints, infer _Handled>,
    infer _E,
    infer Services
  >
    ? [R] extends [never]
      ? Services
      : "a handler requires services of its request"
    : never

/** The layer of a group. `build` gets the services of the layer's context; its handlers require none (Handlers.H1). */
export const group = <const Identifier extends HttpApiGroup.Identifier<Groups>, Made>(
  identifier: Identifier,
  build: (
    handlers: HttpApiBuilder.Handlers.FromGroup<HttpApiGroup.WithIdentifier<Groups, Identifier>>
  ) => HttpApiBuilder.Handlers.ValidateReturn<Made>
) =>
  Layer.effectContext(
    Effect.contextWith((services: Context.Context<Scope.Scope>) =>
      Effect.setContext(
        Layer.build(
          HttpApiBuilder.group<"holdfast", Groups, Identifier, Made>(Api.Api, identifier, (handlers) =>
            provided(build(handlers), services)
          )
        ),
        // `provided` gives the services that the type still requires.
        Context.pick(Scope.Scope)(services) as Context.Context<
          Scope.Scope | Exclude<HttpApiBuilder.Handlers.Context<Made>, Scope.Scope>
        >
      )
    )
    // The compiler cannot follow the types of a group through a type parameter.
  ) as Layer.Layer<HttpApiGroup.Service<"holdfast", Identifier>, HttpApiBuilder.Handlers.Error<Made>, ServicesOf<Made>>

/** The server of the context, whose requests bring no services of this program (Handlers.H1). */
export const server = Layer.effect(
  HttpServer.HttpServer,
  Effect.map(HttpServer.HttpServer, ({ address, serve }) =>
    HttpServer.make({
      address,
      serve: (app, middleware) =>
        Effect.updateContext(middleware === undefined ? serve(app) : serve(app, middleware), withoutServices)
    })
  )
)

// --- internal

/** The same effect with the services of the layer; a value that is no effect stays as it is. */
const provided = <Made>(made: Made, services: Context.Context<never>): Made =>
  Effect.isEffect(made) ? (Effect.provideContext(made, services) as Made) : made

/** The names of this program's services begin with it. */
const OWN = "@holdfast/"

const withoutServices = <R>(context: Context.Context<R>): Context.Context<R> =>
  Context.makeUnsafe(new Map(Array.from(context.mapUnsafe).filter(([name]) => !name.startsWith(OWN))))
