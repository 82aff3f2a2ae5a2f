/** Defines the calls that report the endpoints and the configuration of a running service. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { EffectiveConfiguration } from "../EffectiveConfiguration.ts"
import { Health } from "../Health.ts"
import * as ExampleHealth from "./ExampleHealth.ts"
import * as Problem from "./Problem.ts"

const readHealth = HttpApiEndpoint.get("readHealth", "/v1/health", {
  success: Health.annotate({ identifier: "Health", examples: [ExampleHealth.outage] }),
  error: [Problem.StorageUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Report the endpoints",
    description: [
      "Each endpoint and credential with its gate, its cooldown, its quota with the reset, and its calls and failures of the last hour. An endpoint is",
      "listed if the configuration names it, or if it is known since it was called.",
      "",
      "Runners on one database share pauses, limits and the news of an endpoint (`elsewhere`). Gates and counts are those of the runner that answers,",
      "which `runner` names."
    ].join("\n")
  })
)

const readConfiguration = HttpApiEndpoint.get("readConfiguration", "/v1/configuration", {
  success: EffectiveConfiguration.annotate({
    identifier: "EffectiveConfiguration",
    examples: [ExampleHealth.configuration]
  })
}).annotateMerge(
  OpenApi.annotations({
    summary: "Report the configuration",
    description:
      "Every key in force with its value and its source: a default, the profile, the file with the line, a variable or a flag. Without secrets."
  })
)

/** The calls as a group of the API. */
export const HealthGroup = HttpApiGroup.make("health")
  .add(readHealth, readConfiguration)
  .annotateMerge(
    OpenApi.annotations({
      title: "Health",
      description: "What is known of the endpoints, and the configuration in force."
    })
  )
