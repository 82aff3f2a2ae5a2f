/** Describes what a configuration knows of models in a line each: capabilities, prices, and limits of spending. Pure. */
import type { Models, Prices } from "@holdfast/policy"
import type * as SpendLimits from "../../spend/limits/SpendLimits.ts"

/** What a model can take. */
export const capabilities = ({ contextWindow, files, tools }: Models.Capabilities): string =>
  [
    ...(contextWindow === undefined ? [] : [`${contextWindow} tokens`]),
    ...(tools === undefined ? [] : [tools ? "tools" : "no tools"]),
    ...(files === undefined ? [] : [filesInWords(files)])
  ].join(", ") || "nothing is known"

/** What a model costs. */
export const price = ({ cacheWrite, cachedInput, input, output }: Prices.Price): string =>
  `${[
    `$${input} of input`,
    `$${output} of output`,
    ...(cachedInput === undefined ? [] : [`$${cachedInput} of cached input`]),
    ...(cacheWrite === undefined ? [] : [`$${cacheWrite} of input written to the cache`])
  ].join(", ")} per million tokens`

/** How much may be spent. */
export const spendLimit = ({ money, per, tag, then, tokens }: SpendLimits.SpendLimit): string =>
  [
    `a ${per}${tag === undefined ? "" : ` ${tag}`}`,
    ...(money === undefined ? [] : [`$${money}`]),
    ...(tokens === undefined ? [] : [`${tokens} tokens`]),
    `then ${then}`
  ].join(", ")

// --- internal

const filesInWords = (files: NonNullable<Models.Capabilities["files"]>): string =>
  typeof files === "boolean" ? (files ? "files" : "no files") : files.length === 0 ? "no files" : files.join(", ")
