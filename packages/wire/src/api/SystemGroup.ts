/** Defines the calls for operators: health, readiness and metrics. */
import * as Schema from "effect/Schema"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { about, titled } from "./OpenApiDocument.ts"
import * as Problem from "./Problem.ts"

/** The content type of Prometheus' text format. */
const METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

const Ok = Schema.Struct({ status: Schema.Literal("ok") }).annotate({
  identifier: "Ok",
  description: "All is well.",
  examples: [{ status: "ok" }]
})

const health = HttpApiEndpoint.get("health", "/healthz", { success: Ok }).annotateMerge(
  about("Is the process up?", "Checks nothing else. Needs no token.")
)

const ready = HttpApiEndpoint.get("ready", "/readyz", {
  success: Ok,
  error: [Problem.StorageUnavailable, Problem.Starting, Problem.ShuttingDown]
}).annotateMerge(
  about(
    "Does it accept turns?",
    "200 when the storage can be read and written, the turns of the last process are resumed, and the service is not shutting down. Otherwise 503, with the reason."
  )
)

const metrics = HttpApiEndpoint.get("metrics", "/metrics", {
  success: Schema.String.annotate({ description: "Prometheus text." }).pipe(
    HttpApiSchema.asText({ contentType: METRICS_CONTENT_TYPE })
  )
}).annotateMerge(about("Metrics", "In Prometheus text."))

/** The calls for operators. */
export const SystemGroup = HttpApiGroup.make("system")
  .add(health, ready, metrics)
  .annotateMerge(titled("System", "For operators of the service."))
