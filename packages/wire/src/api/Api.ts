/**
 * The HTTP API: the one definition that the server, the typed client, `/openapi.json` and the page at `/docs` come from.
 *
 * A1. A key that a body is not known to have is an error, named by its path: a misspelt setting never passes in silence.
 * A2. What is wrong with a request is reported whole, not one mistake a call.
 */
import { HttpApi, OpenApi } from "effect/http-api"
import { ConversationsGroup } from "./ConversationsGroup.ts"
import { complete } from "./OpenApiDocument.ts"
import { problems } from "./Problem.ts"
import { SystemGroup } from "./SystemGroup.ts"
import { TurnsGroup } from "./TurnsGroup.ts"
import { WorkGroup } from "./WorkGroup.ts"

/** Where the document that describes the API is. */
export const OPENAPI_PATH = "/openapi.json"

/** Where people read it. */
export const DOCS_PATH = "/docs"

const description = [
  "Holdfast keeps agent turns alive through provider outages: a prompt given to it is answered, however long the provider is down.",
  "",
  "Every error is a problem detail (RFC 9457, `application/problem+json`); its `type` leads to its explanation in [the list of problems](/docs/problems)."
].join("\n")

export const Api = HttpApi.make("holdfast")
  .add(ConversationsGroup, TurnsGroup, WorkGroup, SystemGroup)
  // A1
  .annotate(HttpApi.PayloadParseOptions, { onExcessProperty: "error", errors: "all" })
  // A2
  .annotate(HttpApi.ParseOptions, { errors: "all" })
  // Any call can be refused before it is one, so not every problem belongs to a call.
  .annotate(HttpApi.AdditionalSchemas, Object.values(problems))
  .annotateMerge(
    OpenApi.annotations({
      title: "Holdfast",
      version: "1",
      description,
      transform: complete
    })
  )
