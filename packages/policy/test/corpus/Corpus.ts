/** Every payload of the corpus: errors of providers, proxies and SDKs, each with its expected classification. */
import { alibaba } from "./Alibaba.ts"
import { bedrock } from "./Bedrock.ts"
import { cohere } from "./Cohere.ts"
import { copilot } from "./Copilot.ts"
import { hosts } from "./Hosts.ts"
import { huggingFace } from "./HuggingFace.ts"
import { local } from "./Local.ts"
import { miniMax } from "./MiniMax.ts"
import { moonshot } from "./Moonshot.ts"
import { perplexity } from "./Perplexity.ts"
import { zai } from "./Zai.ts"
import { anthropic } from "./Anthropic.ts"
import { azure } from "./Azure.ts"
import { cloudflare } from "./Cloudflare.ts"
import { deepSeek } from "./DeepSeek.ts"
import { gateways } from "./Gateways.ts"
import { google } from "./Google.ts"
import { groq } from "./Groq.ts"
import { mistral } from "./Mistral.ts"
import { node } from "./Node.ts"
import { openAi } from "./OpenAi.ts"
import { openRouter } from "./OpenRouter.ts"
import type { Payload } from "./Payload.ts"
import { proxies } from "./Proxies.ts"
import { sdks } from "./Sdks.ts"
import { xai } from "./Xai.ts"

export const corpus: ReadonlyArray<Payload> = [
  ...openAi,
  ...anthropic,
  ...google,
  ...openRouter,
  ...azure,
  ...groq,
  ...mistral,
  ...xai,
  ...deepSeek,
  ...cloudflare,
  ...alibaba,
  ...bedrock,
  ...cohere,
  ...copilot,
  ...hosts,
  ...huggingFace,
  ...local,
  ...miniMax,
  ...moonshot,
  ...perplexity,
  ...zai,
  ...proxies,
  ...gateways,
  ...node,
  ...sdks
]
