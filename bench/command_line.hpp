#pragma once

#include <boost/program_options.hpp>

#include <iostream>

/// Reads a command line into the variables of the options, of which one is `help`. False where that is given: the
/// options have then been shown. Throws boost::program_options::error for what they do not have.
inline bool read_command_line(int argc, char** argv, const boost::program_options::options_description& options) {
  namespace po = boost::program_options;
  po::variables_map given;
  po::store(po::parse_command_line(argc, argv, options), given);
  if (given.contains("help")) {
    std::cout << options;
    return false;
  }
  po::notify(given);
  return true;
}
