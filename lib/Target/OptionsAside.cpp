//===- OptionsAside.cpp - LLVM's options, out of reach --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OptionsAside.h"

using namespace llvm;
using namespace fa;

OptionsAside::OptionsAside() {
  for (cl::SubCommand *command : cl::getRegisteredSubcommands()) {
    Options &options = taken.emplace_back();
    options.of = command;
    std::swap(options.positional, command->PositionalOpts);
    std::swap(options.sink, command->SinkOpts);
    std::swap(options.named, command->OptionsMap);
    std::swap(options.consumeAfter, command->ConsumeAfterOpt);
  }
}

OptionsAside::~OptionsAside() {
  for (Options &options : taken) {
    cl::SubCommand &command = *options.of;
    options.positional.append(command.PositionalOpts);
    options.sink.append(command.SinkOpts);
    for (auto &[name, option] : command.OptionsMap)
      options.named.try_emplace(name, option);
    command.PositionalOpts = std::move(options.positional);
    command.SinkOpts = std::move(options.sink);
    command.OptionsMap = std::move(options.named);
    if (!command.ConsumeAfterOpt)
      command.ConsumeAfterOpt = options.consumeAfter;
  }
}
