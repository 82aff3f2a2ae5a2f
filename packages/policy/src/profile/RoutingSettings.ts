/** The schema of routing in a configuration: targets are `provider/model`. */
import { Target } from "@holdfast/wire"
import * as Schema from "effect/Schema"
import * as Durations from "./Durations.ts"
import { required, setting } from "./Setting.ts"
import { ANY_PRIMARY, noChains, type Routing } from "../routing/Routing.ts"

const EXPECTED = 'a provider and a model, such as "openai/gpt-5"'

const TargetName = Schema.String.annotate({ message: `Expected ${EXPECTED}` }).check(
  Schema.makeFilter((name) => Target.parse(name) !== undefined || `Expected ${EXPECTED}`, {
    toJsonSchema: () => ({ pattern: Target.PATTERN })
  })
)

/** The limit of targets, more than any real configuration. The record of each decision names all targets that were considered. */
const MOST_TARGETS = 100

const Targets = Schema.Array(TargetName).check(
  Schema.makeFilter(
    (names) => {
      // Checked first, because a client may send a list of fifty thousand with a conversation.
      if (names.length > MOST_TARGETS) return `Expected ${MOST_TARGETS} targets at most`
      return names.flatMap((name, at) =>
        names.indexOf(name) === at
          ? []
          : [{ path: [at], issue: `Expected each target once; "${name}" is there before` }]
      )
    },
    { toJsonSchema: () => ({ maxItems: MOST_TARGETS, uniqueItems: true }) }
  )
)

const FallbackChain = Schema.Struct({
  type: required(Schema.Literal("fallback-chain"), { doc: "`fallback-chain` or `round-robin`" }),
  chains: setting(
    Schema.Record(Schema.String, Targets).check(
      Schema.makeFilter(
        (chains) =>
          Object.keys(chains)
            .filter((key) => key !== ANY_PRIMARY && Target.parse(key) === undefined)
            .map((key) => ({
              path: [key],
              issue: `Expected ${EXPECTED}, or "${ANY_PRIMARY}" for every other primary`
            })),
        { toJsonSchema: () => ({ propertyNames: { anyOf: [{ const: ANY_PRIMARY }, { pattern: Target.PATTERN }] } }) }
      )
    ),
    {
      doc: "fallback-chain: lists of 100 targets at most, best first, each by the primary that it stands in for, or by `default` for every other primary"
    }
  ),
  revert: setting(Schema.Literals(["cooldown-expiry", "never"]), {
    doc: "fallback-chain: `cooldown-expiry` goes back to the primary with the first step after its cooldown; `never` stays",
    default: "cooldown-expiry"
  }),
  cooldown: setting(Durations.Positive, {
    doc: "fallback-chain: how long a target that failed is skipped; longer if the provider asks for it",
    default: "5 minutes"
  })
})

const RoundRobin = Schema.Struct({
  type: Schema.Literal("round-robin"),
  targets: setting(Targets, {
    doc: "round-robin: the targets in order, 100 at most; a model that is not among them comes first",
    unset: "none: the turn's own"
  })
})

/** The `routing` of a `retry` object. */
export const RoutingSettings = Schema.Union([FallbackChain, RoundRobin]).annotate({
  message: 'Expected a routing: an object whose "type" is "fallback-chain" or "round-robin"'
})

/** Returns the routing of settings. */
export const toRouting = (settings: typeof RoutingSettings.Type): Routing => {
  switch (settings.type) {
    case "fallback-chain":
      return {
        type: "fallback-chain",
        chains: Object.fromEntries(
          Object.entries(settings.chains ?? {}).map(([role, names]) => [role, targetsOf(names)])
        ),
        revert: settings.revert ?? noChains.revert,
        cooldownMs: Durations.millisOr(settings.cooldown, noChains.cooldownMs)
      }
    case "round-robin":
      return { type: "round-robin", targets: targetsOf(settings.targets ?? []) }
    default:
      return settings satisfies never
  }
}

/** Returns every target in settings, with its path. */
export const targetNames = (
  settings: typeof RoutingSettings.Type
): ReadonlyArray<{ readonly path: ReadonlyArray<string | number>; readonly name: string }> => {
  if (settings.type === "round-robin") return placed(["targets"], settings.targets ?? [])
  return Object.entries(settings.chains ?? {}).flatMap(([role, names]) => [
    ...(role === ANY_PRIMARY ? [] : [{ path: ["chains", role], name: role }]),
    ...placed(["chains", role], names)
  ])
}

// --- internal

const placed = (path: ReadonlyArray<string>, names: ReadonlyArray<string>) =>
  names.map((name, at) => ({ path: [...path, at], name }))

const targetsOf = (names: ReadonlyArray<string>): ReadonlyArray<Target.Target> =>
  names.map(Target.parse).filter((target) => target !== undefined)
