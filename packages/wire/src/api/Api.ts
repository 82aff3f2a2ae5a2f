/**
 * Defines the HTTP API for server, typed client, `/openapi.json` and `/docs`.
 *
 * An unknown key in a body is an error that names the key's path, so a misspelt setting is never ignored silently. A response reports
 * all mistakes of a request.
 */
import { HttpApi, OpenApi } from "effect/http-api"
import { UiMessagesGroup } from "./UiMessagesGroup.ts"
import { ConversationsGroup } from "./ConversationsGroup.ts"
import { DryRunGroup } from "./DryRunGroup.ts"
import { HealthGroup } from "./HealthGroup.ts"
import { complete } from "./OpenApiDocument.ts"
import { problems } from "./Problem.ts"
import { SystemGroup, SocketGroup } from "./SystemGroup.ts"
import { TurnsGroup } from "./TurnsGroup.ts"
import { WorkGroup } from "./WorkGroup.ts"

/** The path of the OpenAPI document. */
export const OPENAPI_PATH = "/openapi.json"

/** The path of the page that shows the document. */
export const DOCS_PATH = "/docs"

const description = [
  "Holdfast keeps agent turns alive through provider outages: a prompt given to it is answered, however long the provider is down.",
  "",
  "Every error is a problem detail (RFC 9457, `application/problem+json`); its `type` leads to its explanation in [the list of problems](/docs/problems)."
].join("\n")

/** All calls, with their problems and descriptions. */
export const Api = HttpApi.make("holdfast")
  .add(ConversationsGroup, TurnsGroup, WorkGroup, DryRunGroup, UiMessagesGroup, SocketGroup, HealthGroup, SystemGroup)
  .annotate(HttpApi.PayloadParseOptions, { onExcessProperty: "error", errors: "all" })
  .annotate(HttpApi.ParseOptions, { errors: "all" })
  // A request can be rejected before it reaches a call, so some problems belong to no call.
  .annotate(HttpApi.AdditionalSchemas, Object.values(problems))
  .annotateMerge(
    OpenApi.annotations({
      title: "Holdfast",
      version: "1",
      description,
      transform: complete
    })
  )
