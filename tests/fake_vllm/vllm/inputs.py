TokensPrompt = TextPrompt = dict
